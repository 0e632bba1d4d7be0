#include "headroom/policy.h"
