"""Writes one table in many dialects, and what pandas reads in each: the expected values of the test `tables`.

python3 make.py, with pandas installed.
"""

import json

import pandas

ROWS = [(0.5 * i, 2.0 - 0.25 * i, 1234.5 * (i + 1)) for i in range(6)]


def table(separator=",", mark=".", names="a{0}b{0}c\n", cell="{}", end="\n"):
    rows = [separator.join(cell.format(str(x).replace(".", mark)) for x in row) for row in ROWS]
    return names.format(separator) + "".join(row + end for row in rows)


def grouped():
    return "a;b;c\n" + "".join(f"{a};{b};{c:,.1f}\n" for a, b, c in ROWS)


PLAIN = table()
# File, content, arguments of pandas.
FILES = [
    ("plain.csv", PLAIN, {}),
    ("semicolons.csv", table(";"), {"sep": ";"}),
    ("decimal_commas.csv", table(";", ","), {"sep": ";", "decimal": ","}),
    ("carriage_returns.csv", table(";", ",", end="\r\n"), {"sep": ";", "decimal": ","}),
    ("tabs.tsv", table("\t"), {"sep": "\t"}),
    ("tabs.csv", table("\t"), {"sep": "\t"}),
    ("bars.csv", table("|"), {"sep": "|"}),
    ("comments.csv", "# by hand\n" + PLAIN.replace("\n1.0,", "\n# half\n1.0,"), {"comment": "#"}),
    ("names_in_comment.csv", "# " + PLAIN, {"comment": "#", "header": None, "names": ["a", "b", "c"]}),
    ("quoted.csv", table(cell='"{}"'), {}),
    ("quoted_commas.csv", table(",", ",", cell='"{}"'), {"decimal": ","}),
    ("byte_order_mark.csv", "\ufeff" + PLAIN, {}),
    ("blank_lines.csv", PLAIN.replace("\n1.0,", "\n\n1.0,"), {}),
    ("spaces.csv", table(" , "), {"skipinitialspace": True}),
    ("thousands.csv", grouped(), {"sep": ";", "thousands": ","}),
    ("no_header.csv", table(names=""), {"header": None}),
    ("missing.csv", PLAIN.replace("\n1.0,", "\nNA,").replace("\n2.0,", "\n?,"), {"na_values": ["?"]}),
]

expected = {}
for name, text, arguments in FILES:
    with open(name, "w", encoding="utf8", newline="") as file:
        file.write(text)
    frame = pandas.read_csv(name, **arguments)
    frame.columns = [str(column).strip() for column in frame.columns]
    columns = {name: [None if pandas.isna(x) else float(x) for x in frame[name]] for name in frame.columns}
    expected[name] = columns
with open("expected.json", "w") as file:
    json.dump(expected, file, indent=1)
    file.write("\n")
