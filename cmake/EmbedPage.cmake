# cmake -DPAGE=page.html -DOUT=page_template.c -P EmbedPage.cmake: the page as a C source. PAGE may be empty: there is none.
# NAME and HEADER: another symbol, and the header that declares it.
if(NOT DEFINED NAME)
  set(NAME hr__page_template)
  set(HEADER report/page/page.h)
endif()
set(head "/* Made at build time from ${PAGE}. */\n#include \"${HEADER}\"\n\n")
if(PAGE STREQUAL "")
  file(WRITE ${OUT} "${head}const char *const ${NAME} = 0;\n")
  return()
endif()
file(READ ${PAGE} bytes HEX)
string(REGEX REPLACE "(................................)" "\\1\n" bytes "${bytes}")
string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${bytes}")
file(WRITE ${OUT} "${head}static const unsigned char page[] = {\n${bytes}0};\n"
                  "const char *const ${NAME} = (const char *)page;\n")
