#!/usr/bin/env python3
"""Prints the files of a page as a C table, struct page_file of base/page/page.h. index.html is the page itself.

usage: embed.py FILE…"""
import pathlib
import sys

TYPES = {".html": "text/html; charset=utf-8", ".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8"}


def rows(data):
    """Bytes as numbers, and not as text: a string of C may not be as long as a file is."""
    for at in range(0, len(data), 24):
        yield "\t" + "".join(f"{byte}," for byte in data[at:at + 24])


def main():
    files = sorted(map(pathlib.Path, sys.argv[1:]), key=lambda path: path.name)
    print("/* Made from the files of the page while building. */\n#include \"base/page/page.h\"")
    for number, path in enumerate(files):
        print(f"static const unsigned char web_file_{number}[] = {{")
        print("\n".join(rows(path.read_bytes())))
        print("};")
    print("static const struct page_file page_files[] = {")
    for number, path in enumerate(files):
        address = "/" if path.name == "index.html" else f"/{path.name}"
        print(f'\t{{ "{address}", "{TYPES[path.suffix]}", web_file_{number}, sizeof(web_file_{number}) }},')
    print("};")


if __name__ == "__main__":
    main()
