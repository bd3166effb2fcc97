# SPDX-License-Identifier: Apache-2.0
"""Fortran files as fparser (Debian's python3-fparser) reads them: an independent parser, for the tests beside this."""
import sys

try:
    import fparser  # noqa: F401
except ImportError:  # another Python than Debian's comes first
    sys.path.append("/usr/lib/python3/dist-packages")

MISSING = ""
try:
    from fparser.common.readfortran import FortranFileReader
    from fparser.two import Fortran2003 as F
    from fparser.two.parser import ParserFactory
    from fparser.two.utils import walk
except ImportError as error:
    MISSING = "python3-fparser is not installed (%s)" % error


def parse(path):
    return ParserFactory().create(std="f2008")(FortranFileReader(path, ignore_comments=True))


def arrays(tree):
    """Names of declared arrays, in lower case."""
    found = set()
    for entity in walk(tree, F.Entity_Decl):
        if entity.items[1] is not None:
            found.add(str(entity.items[0]).lower())
    for statement in walk(tree, F.Dimension_Stmt):
        for name, _ in statement.items[0]:
            found.add(str(name).lower())
    return found


def references(tree, names):
    """Array elements in it, in the order of the text."""
    kinds = (F.Part_Ref, F.Intrinsic_Function_Reference)
    return [node for node in walk(tree, kinds) if str(node.items[0]).lower() in names]


def statements(node):
    """Executable statements in the order of the text: single ones, and those that begin and end blocks."""
    if isinstance(node, F.BlockBase):
        for part in node.content:
            yield from statements(part)
    else:
        yield node
