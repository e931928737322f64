#!/usr/bin/env python3
"""Prints the presets as a C table, for policies/hosts/presets.c.

usage: embed.py FILE.policy…"""
import pathlib
import sys


def literal(line):
    if any(not 0x20 <= byte < 0x7f for byte in line.encode()):
        raise SystemExit(f"a preset is plain ASCII: {line!r}")
    return '"' + line.replace("\\", "\\\\").replace('"', '\\"') + '\\n"'


def main():
    print("/* Made from policies/presets/ while building. */")
    print("static const struct {\n\tconst char *name, *text;\n} presets_list[] = {")
    for path in sorted(map(pathlib.Path, sys.argv[1:]), key=lambda path: path.stem):
        print(f'\t{{ "{path.stem}",')
        for line in path.read_text().splitlines():
            print(f"\t  {literal(line)}")
        print("\t},")
    print("};")


if __name__ == "__main__":
    main()
