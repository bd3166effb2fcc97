#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Accuracy against overhead of fathom sample, beside RDX (Wang et al., HPCA 2019) and `fathom run`: an SVG, or a table.

  sample_figure.py LINES >sample-overhead.svg
  sample_figure.py --table LINES

Reads what `bench_sample.py --tradeoff` wrote. Small points are programs, large ones medians over programs. The paper's are
its medians over SPEC CPU2006: table II (time) and figure 7 (S of distances, 0.90 at every period)."""
import math
import statistics
import sys

SETTINGS = ("1_%", "2_%", "5_%", "10_%", "500_Hz", "1,000_Hz", "run")
RDX = (("10M", 0.04), ("5M", 0.05), ("1M", 0.16), ("500K", 0.24))
RDX_S = 0.90
points = {}
for line in open(sys.argv[-1], encoding="utf-8"):
    fields = dict(word.split("=", 1) for word in line.split() if "=" in word)
    if fields.get("bench") == "tradeoff":
        points.setdefault(fields["setting"], {})[fields["program"]] = float(fields["overhead"]), float(fields["s"])
if not points:
    sys.exit("sample_figure: no lines of bench_sample.py --tradeoff")
settings = [name for name in SETTINGS if name in points]


def median(setting, column):
    return statistics.median(row[column] for row in points[setting].values())


def shown(setting):
    return "fathom run" if setting == "run" else setting.replace("_", " ")


if "--table" in sys.argv:
    print("| | programs | overhead, median | worst | S of distances, median | worst |")
    print("|---|---|---|---|---|---|")
    for name in settings:
        rows = points[name].values()
        print(f"| {shown(name)} | {len(rows)} | {100 * median(name, 0):+.1f} % | {100 * max(row[0] for row in rows):+.1f} % | "
              f"{median(name, 1):.3f} | {min(row[1] for row in rows):.3f} |")
    for period, overhead in RDX:
        print(f"| RDX, period {period} | 29 | {100 * overhead:+.0f} % | | {RDX_S:.2f} | |")
    sys.exit()

WIDE, HIGH, LEFT, BOTTOM, RIGHT, TOP = 860, 440, 60, 56, 170, 24
LEAST, MOST, LOWEST = 0.005, 200, min(0.8, min(row[1] for rows in points.values() for row in rows.values()) - 0.02)
COLOURS = ("#3b7f9e", "#0b66c3", "#0a8a6b", "#8a7400", "#d1570a", "#c2304f", "#1b2330")


def x(overhead):
    share = (math.log10(min(MOST, max(LEAST, overhead))) - math.log10(LEAST)) / (math.log10(MOST) - math.log10(LEAST))
    return LEFT + (WIDE - LEFT - RIGHT) * share


def y(likeness):
    return HIGH - BOTTOM - (HIGH - BOTTOM - TOP) * (likeness - LOWEST) / (1 - LOWEST)


def text(at, up, words, anchor="middle", colour="#5b6675"):
    return f'<text x="{at:.1f}" y="{up:.1f}" text-anchor="{anchor}" fill="{colour}">{words}</text>'


print(f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDE} {HIGH}" font-family="sans-serif" font-size="13">')
print(f'<rect width="{WIDE}" height="{HIGH}" fill="#ffffff"/>')
for mark, words in ((0.01, "1 %"), (0.02, "2 %"), (0.05, "5 %"), (0.1, "10 %"), (0.25, "25 %"), (1, "2 ×"), (4, "5 ×"), (9, "10 ×"),
                    (29, "30 ×"), (99, "100 ×")):
    print(f'<path d="M{x(mark):.1f} {TOP}V{HIGH - BOTTOM}" stroke="#e9ecf1"/>')
    print(text(x(mark), HIGH - BOTTOM + 18, words))
step = 0.05 if LOWEST >= 0.6 else 0.1
for mark in [1 - i * step for i in range(int((1 - LOWEST) / step) + 1)]:
    print(f'<path d="M{LEFT} {y(mark):.1f}H{WIDE - RIGHT}" stroke="#e9ecf1"/>')
    print(text(LEFT - 8, y(mark) + 4, f"{mark:.2f}", "end"))
print(text((LEFT + WIDE - RIGHT) / 2, HIGH - 12, "time that the program takes more (logarithmic)"))
print(text(LEFT, 14, "S of distances, the paper’s bins", "start"))
for index, name in enumerate(settings):
    colour = COLOURS[index % len(COLOURS)]
    for overhead, likeness in points[name].values():
        print(f'<circle cx="{x(overhead):.1f}" cy="{y(likeness):.1f}" r="2.5" fill="{colour}" opacity="0.45"/>')
line = "L".join(f"{x(median(name, 0)):.1f} {y(median(name, 1)):.1f}" for name in settings)
print(f'<path d="M{line}" fill="none" stroke="#b9c2cf" stroke-width="1.5"/>')
for index, name in enumerate(settings):
    colour, up = COLOURS[index % len(COLOURS)], TOP + 14 + 20 * index
    print(f'<circle cx="{x(median(name, 0)):.1f}" cy="{y(median(name, 1)):.1f}" r="6" fill="{colour}"/>')
    print(f'<circle cx="{WIDE - RIGHT + 22}" cy="{up - 4}" r="5" fill="{colour}"/>')
    print(text(WIDE - RIGHT + 34, up, shown(name), "start", "#1b2330"))
for period, overhead in RDX:
    at, up = x(overhead), y(RDX_S)
    print(f'<path d="M{at - 6:.1f} {up + 5:.1f}h12l-6 -11z" fill="#a33ea1"/>')
    print(text(at, up + 20 + (14 if period == "10M" else 0), period, colour="#a33ea1"))
up = TOP + 14 + 20 * len(settings)
print(f'<path d="M{WIDE - RIGHT + 16} {up}h12l-6 -11z" fill="#a33ea1"/>')
print(text(WIDE - RIGHT + 34, up, "RDX, by period", "start", "#1b2330"))
print("</svg>")
