# SPDX-License-Identifier: Apache-2.0
"""C sources rewritten, so that a compiled program makes accesses in the order that docs/STATIC.md states."""
import re


def rewrite_compound(text):
    """x op= e as x = x op (e): the left side is loaded first."""
    made, at, depth, begin = [], 0, 0, 0
    stack = []
    for i, c in enumerate(text):
        if c == "(":
            stack.append(re.search(r"(\w*)\s*$", text[begin:i]).group(1))
            depth += 1
        elif c == ")":
            depth -= 1
            if depth == 0 and stack and stack[0] in ("for", "if", "while"):
                begin = i + 1
            stack.pop()
        elif c in ";{}" and depth == 0:
            begin = i + 1
        elif c == "=" and depth == 0 and text[i - 1] in "+-*/" and text[i + 1] == " ":
            left = text[begin:i - 1]
            while left.strip().startswith("else "):
                left = left.strip()[5:]
            stop = text.index(";", i)
            made.append(text[at:i - 1] + "= " + left.strip() + " " + text[i - 1] + " (" + text[i + 1:stop].strip() + ")")
            at = stop
    return "".join(made) + text[at:]


def rewrite_choice(text):
    """c ? a : b as both(c, a, b): of conditions that depend on data both sides are counted."""
    while "?" in text:
        at = text.rindex("?")
        depth, first = 0, at
        while not (depth == 0 and (text[first - 1] == "(" or text[first - 2:first] == "= " and text[first - 3] not in "<>=!")):
            first -= 1
            depth += (text[first] == ")") - (text[first] == "(")
        depth, last = 0, at
        while not (depth == 0 and text[last] in ");"):
            depth += (text[last] == "(") - (text[last] == ")")
            last += 1
        colon = at + text[at:last].index(" : ")
        text = text[:first] + "both<decltype(%s + 0)>(%s, %s, %s)" % (
            text[colon + 3:last].replace("both<", "both<"), text[first:at].strip(), text[at + 1:colon].strip(),
            text[colon + 3:last].strip()) + text[last:]
    return text
