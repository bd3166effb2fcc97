# SPDX-License-Identifier: Apache-2.0
"""Random C functions full of loops in disguise, guards, helpers and pointers, for clang_test.py: make(random) returns the
text of a function `void NAME(int n)` over the arrays A[128] and B[32][32]. Every loop ends, every subscript is masked."""


class Maker:
    def __init__(self, random, name):
        self.random, self.name, self.count, self.lines = random, name, 0, []
        self.steady = ["n"]    # do not change in the loops that are open
        self.numbers = ["n"]   # any integer in sight
        self.changing = []     # declared outside of the loops that are open: may be changed
        self.pointers = []
        self.room = 14

    def new(self, letter):
        self.count += 1
        return "%s%d" % (letter, self.count)

    def number(self):
        r = self.random
        form = r.randrange(9)
        a, b, c = r.choice(self.numbers), r.choice(self.numbers), r.randrange(-4, 9)
        return {0: a, 1: "%s + %d" % (a, c), 2: "%s - %s" % (a, b), 3: "2 * %s + %d" % (a, c), 4: "%d - %s" % (c, a),
                5: "(%s + %d) / 2" % (a, c), 6: "%s %% 5 + %s" % (a, b), 7: "(%s > %s ? %s : %s)" % (a, b, a, b),
                8: "(%s == %d ? %s + 3 : %s)" % (a, c, a, b)}[form]

    def steady_number(self):
        r = self.random
        return r.choice([str(r.randrange(0, 9)), r.choice(self.steady), "%s - %d" % (r.choice(self.steady), r.randrange(0, 5)),
                         "%s / 2" % r.choice(self.steady)])

    def condition(self):
        r = self.random
        one = "%s %s %s" % (r.choice(self.numbers), r.choice(["<", "<=", ">", ">=", "==", "!="]), self.number())
        if r.random() < 0.2:
            one += r.choice([" && ", " || "]) + "%s > %s" % (r.choice(self.numbers), r.randrange(8))
        return "!(%s)" % one if r.random() < 0.1 else one

    def element(self):
        r = self.random
        if self.pointers and r.random() < 0.2:
            return "%s[(%s) & 7]" % (r.choice(self.pointers), self.number())
        if r.random() < 0.6:
            return "A[(%s) & 127]" % self.number()
        return "B[(%s) & 31][(%s) & 31]" % (self.number(), self.number())

    def put(self, depth, text):
        self.lines.append("    " * (depth + 1) + text)

    def statement(self, depth, loops):
        r = self.random
        self.room -= 1
        form = r.randrange(12)
        if form < 5 or self.room < 0:
            right = r.choice(["%s", "%s + 1.0", "2.0 * %s"]) % self.element()
            if r.random() < 0.3:
                right += " - " + self.element()
            self.put(depth, "%s = %s;" % (self.element(), right))
        elif form == 5 and self.changing:
            self.put(depth, "%s %s %d;" % (r.choice(self.changing), r.choice(["+=", "-="]), r.randrange(1, 4)))
        elif form == 6:
            new = self.new("t")
            self.put(depth, "int %s = %s;" % (new, self.number()))
            self.numbers.append(new)
        elif form == 7:
            self.put(depth, "if (%s) {" % self.condition())
            self.block(depth + 1, loops, r.randrange(1, 3))
            if r.random() < 0.4:
                self.put(depth, "} else {")
                self.block(depth + 1, loops, 1)
            self.put(depth, "}")
        elif form == 8 and loops == depth and loops > 0 and r.random() < 0.5:
            self.put(depth, "if (%s) continue;" % self.condition())
        elif loops < 3:
            self.loop(depth, loops)
        else:
            self.put(depth, "%s = 0.0;" % self.element())

    def block(self, depth, loops, count):
        kept = list(self.numbers), list(self.pointers), list(self.changing)
        for _ in range(count):
            self.statement(depth, loops)
        self.numbers, self.pointers, self.changing = kept

    def loop(self, depth, loops):
        r = self.random
        v, step, form = self.new("i"), r.choice([1, 1, 1, 2, 3]), r.randrange(8)
        low, high = self.steady_number(), self.steady_number()
        steady, numbers, changing = list(self.steady), list(self.numbers), list(self.changing)
        inside = None
        self.numbers.append(v)
        if form == 0:
            self.put(depth, "for (int %s = %s; %s < %s; %s += %d) {" % (v, low, v, high, v, step))
        elif form == 1:
            self.put(depth, "for (int %s = %s; %s >= %s; %s -= %d) {" % (v, high, v, low, v, step))
        elif form == 2:
            self.put(depth, "for (int %s = 0; %s <= %s && %s < %s; %s++) {" % (v, v, high, v, self.steady_number(), v))
        elif form == 3:
            self.put(depth, "int %s = %s;" % (v, high))
            self.put(depth, "while (%s-- > 0) {" % v)
        elif form == 4:
            self.put(depth, "int %s = %s;" % (v, low))
            self.put(depth, "while (%s < %s) {" % (v, high))
            inside = "%s += %d;" % (v, step)
        elif form == 5:
            self.put(depth, "int %s = %s;" % (v, low))
            self.put(depth, "do {")
            inside = "%s++;" % v
        elif form == 6:
            w = self.new("j")
            self.put(depth, "for (int %s = 0, %s = %s; %s < %s; %s++, %s -= 2) {" % (v, w, high, v, high, v, w))
            self.numbers.append(w)
        else:
            p = self.new("p")
            self.put(depth, "double *%s = &A[3];" % p)
            self.put(depth, "for (int %s = 0; %s < 9; %s++) {" % (v, v, v))
            self.put(depth + 1, "*%s++ = 1.0;" % p)
        body = depth + 1
        self.block(body, loops + 1 if inside is None else 9, r.randrange(1, 4)) # no continue before the step
        if form == 0 and r.random() < 0.2:
            self.put(body, "if (%s >= %d) break;" % (v, r.randrange(2, 7)))
            self.put(body, "%s = 1.0;" % self.element())
        if inside:
            self.put(body, inside)
        self.put(depth, "} while (%s < %s);" % (v, high) if form == 5 else "}")
        self.steady, self.numbers, self.changing = steady, numbers, changing

    def make(self):
        for _ in range(self.random.randrange(1, 3)):
            k = self.new("k")
            self.put(0, "int %s = %d;" % (k, self.random.randrange(6)))
            self.numbers.append(k)
            self.changing.append(k)
        for _ in range(self.random.randrange(1, 4)):
            self.loop(0, 0)
            self.put(0, "%s = %s;" % (self.element(), self.element()))
        return "void %s(int n)\n{\n%s\n}\n" % (self.name, "\n".join(self.lines))


def make(random, name):
    return Maker(random, name).make()
