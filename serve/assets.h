/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_SERVE_ASSETS_H
#define HR_SERVE_ASSETS_H

/* The page, its script and its style, which the build bundles from serve/web and embeds. NULL: the program was built
   without node and npm. */

extern const char *const hr__planner_page;
extern const char *const hr__planner_script;
extern const char *const hr__planner_style;

#endif
