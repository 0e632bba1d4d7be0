# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs the code cells of notebooks in order, without a kernel, and prints the value at the end of each cell.

    notebooks.py NOTEBOOK...
"""

import ast
import json
import sys
import time


def run_cell(source, names):
    tree = ast.parse(source)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, "cell", "exec"), names)
    if last:
        print(eval(compile(ast.Expression(last.value), "cell", "eval"), names))


for path in sys.argv[1:]:
    with open(path, encoding="utf-8") as file:
        cells = json.load(file)["cells"]
    names, began = {"__name__": "__main__"}, time.time()
    for cell in cells:
        if cell["cell_type"] == "code":
            run_cell("".join(cell["source"]), names)
    print("%s: %d cells, %.1f s" % (path, len(cells), time.time() - began))
