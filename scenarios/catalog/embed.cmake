# Writes a file as an array of bytes in C:
#   cmake -DINPUT=file -DOUTPUT=file.c -DNAME=symbol -DHEADER=file.h -P embed.cmake
file(READ ${INPUT} bytes HEX)
string(REGEX REPLACE "(................................)" "\\1\n" bytes "${bytes}")
string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${bytes}")
file(WRITE ${OUTPUT} "/* Made by embed.cmake; do not edit. */
#include \"${HEADER}\"

const unsigned char ${NAME}[] = {
${bytes}0};
const size_t ${NAME}_size = sizeof ${NAME} - 1;
")
