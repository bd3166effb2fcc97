/* SPDX-License-Identifier: Apache-2.0 */
/* clang_tree_print.c - the region as text (docs/STATIC-IR.md). */
#include "clang_maker.h"

#include <inttypes.h>
#include <string.h>

/* The terms with that sign as a sum of positive ones, and the constant; NULL: there are none. */
static const char *side_text(fm_front *f, const fm_form *from, bool negative, bool constant)
{
    const fm_form *side = fm_form_number(f, 0);
    for (size_t i = 0; i < from->count; i++)
        if ((from->terms[i].factor < 0) == negative)
            side = fm_form_plus(f, side, fm_form_of_term(f, &from->terms[i]), negative ? -1 : 1);
    if (constant && (from->constant < 0) == negative)
        side = fm_form_plus(f, side, fm_form_number(f, from->constant), negative ? -1 : 1);
    return side->count || side->constant ? fm_form_written(f, side) : NULL;
}

const char *condition_text(fm_front *f, const condition *c)
{
    if (c->left)
        return fm_front_text(f, "(%s) %s (%s)", condition_text(f, c->left),
                             c->kind == CONDITION_AND ? "and" : "or", condition_text(f, c->right));
    if (!c->form) return c->kind == CONDITION_TRUE ? "true" : "false";
    /* Nothing negative: i - j - 1 >= 0 is i >= j + 1. */
    const char *left = side_text(f, c->form, false, true), *right = side_text(f, c->form, true, true);
    const char *sign = c->kind == CONDITION_NOT_NEGATIVE ? ">=" : c->kind == CONDITION_ZERO ? "==" : "!=";
    bool turned = side_text(f, c->form, false, false) == NULL; /* 9 >= i is i <= 9 */
    if (turned && c->kind == CONDITION_NOT_NEGATIVE) sign = "<=";
    if (turned) return fm_front_text(f, "%s %s %s", right, sign, left ? left : "0");
    return fm_front_text(f, "%s %s %s", left, sign, right ? right : "0");
}

typedef struct printer {
    fm_front *f;
    FILE *out;
    const fm_atom *loops[MOST_INLINE];
    unsigned depth;
    const fm_atom **parameters;
    size_t parameter_count;
} printer;

static void print_quoted(FILE *out, const char *text)
{
    fputc('"', out);
    for (; *text; text++) {
        if (*text == '"' || *text == '\\') fputc('\\', out);
        if (*text == '\n')
            fputs("\\n", out);
        else
            fputc(*text, out);
    }
    fputc('"', out);
}

static void print_place(printer *p, const place *where)
{
    unsigned number = where->file ? file_number(p->f, where->file) : 0;
    if (!number) return;
    fprintf(p->out, " @%u:%u", number, where->line);
    if (where->column) fprintf(p->out, ":%u", where->column);
}

static void indent(printer *p)
{
    fprintf(p->out, "%*s", (int)(2 * p->depth), "");
}

static void print_access(printer *p, const touch *a)
{
    fprintf(p->out, " %s %s", a->store ? "store" : "load", a->array->name);
    for (unsigned i = 0; i < a->array->rank; i++)
        fprintf(p->out, "[%s]", fm_form_written(p->f, a->subscripts[i]));
    if (a->offset || a->bytes != a->array->bytes)
        fprintf(p->out, " member %" PRIu64 " %" PRIu64, a->offset, a->bytes);
    print_place(p, &a->place);
    if (a->text) {
        fputc(' ', p->out);
        print_quoted(p->out, a->text);
    }
}

static void print_statement(printer *p, const node *n)
{
    const operations *o = &n->operations;
    const struct {
        const char *word;
        uint64_t count;
    } counts[] = {{"adds", o->adds},
                  {"multiplies", o->multiplies},
                  {"divides", o->divides},
                  {"specials", o->specials},
                  {"integers", o->integers}};
    indent(p);
    fputs("do", p->out);
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++)
        if (counts[i].count) fprintf(p->out, " %s %" PRIu64, counts[i].word, counts[i].count);
    print_place(p, &n->place);
    fputs(" {", p->out);
    for (const touch *a = n->accesses; a; a = a->next) print_access(p, a);
    fputs(n->accesses ? " }\n" : "}\n", p->out);
}

/* A loop's name hides others: it must be none that its bounds or its body may use. */
static const char *loop_name(printer *p, const fm_atom *of)
{
    const char *name = of->name;
    for (unsigned turn = 1;; turn++) {
        bool taken = false;
        if (turn > 1) name = fm_front_text(p->f, "%s.%u", of->name, turn);
        for (size_t i = 0; i < p->parameter_count; i++) taken |= strcmp(p->parameters[i]->name, name) == 0;
        for (unsigned i = 0; i < p->depth && i < MOST_INLINE; i++)
            taken |= p->loops[i] && strcmp(p->loops[i]->printed, name) == 0;
        if (!taken) return name;
    }
}

static void print_list(printer *p, const node_list *list);

static void print_body(printer *p, const node_list *list, const fm_atom *of)
{
    fputs(" {\n", p->out);
    if (p->depth >= MOST_INLINE) give_up(p->f, FM_E_LIMIT, "loops and guards are nested too deeply");
    p->loops[p->depth++] = of;
    print_list(p, list);
    p->loops[--p->depth] = NULL;
    indent(p);
    fputs("}", p->out);
}

static void print_loop(printer *p, const node *n)
{
    indent(p);
    n->variable->printed = loop_name(p, n->variable);
    fprintf(p->out, "for %s = %s", n->variable->printed, fm_form_written(p->f, n->first));
    fprintf(p->out, " %s %s", n->step < 0 ? "downto" : "to", fm_form_written(p->f, n->last));
    if (n->step != 1 && n->step != -1) fprintf(p->out, " step %" PRId64, n->step < 0 ? -n->step : n->step);
    print_place(p, &n->place);
    print_body(p, &n->body, n->variable);
    fputc('\n', p->out);
}

static void print_if(printer *p, const node *n)
{
    bool turned = !n->body.first; /* only what happens otherwise */
    const condition *c = turned ? condition_not(p->f, n->condition) : n->condition;
    indent(p);
    fprintf(p->out, "if %s", condition_text(p->f, c));
    print_place(p, &n->place);
    print_body(p, turned ? &n->otherwise : &n->body, NULL);
    if (!turned && n->otherwise.first) {
        fputs(" else", p->out);
        print_body(p, &n->otherwise, NULL);
    }
    fputc('\n', p->out);
}

static void print_list(printer *p, const node_list *list)
{
    for (const node *n = list->first; n; n = n->next) {
        if (n->kind == NODE_LOOP) print_loop(p, n);
        if (n->kind == NODE_STATEMENT) print_statement(p, n);
        if (n->kind != NODE_IF) continue;
        if (n->condition->form || n->condition->left)
            print_if(p, n);
        else
            print_list(p, n->condition->kind == CONDITION_TRUE ? &n->body : &n->otherwise);
    }
}

/* ---- declarations ---- */

static void print_array(printer *p, const array *a)
{
    fprintf(p->out, "array %s", a->name);
    for (unsigned i = 0; i < a->rank; i++)
        fprintf(p->out, "[%s]", a->extents[i] ? fm_form_written(p->f, a->extents[i]) : "");
    fprintf(p->out, " of %" PRIu64, a->bytes);
    print_place(p, &a->place);
    fputc('\n', p->out);
}

static void mark_arrays(const node_list *list)
{
    for (const node *n = list->first; n; n = n->next) {
        for (const touch *a = n->accesses; a; a = a->next) a->array->used = true;
        mark_arrays(&n->body);
        mark_arrays(&n->otherwise);
    }
}

static void print_overlap(printer *p)
{
    const char *names = NULL;
    unsigned pointers = 0, others = 0;
    for (const array *a = p->f->own->arrays; a; a = a->next) {
        if (!a->used) continue;
        if (!a->pointer || a->restricted) {
            others += a->pointer;
            continue;
        }
        pointers++;
        names = names ? fm_front_text(p->f, "%s, %s", names, a->name) : a->name;
    }
    if (pointers == 0 || pointers + others < 2) return;
    note(p->f, "what %s point%s to does not overlap with other arrays", names, pointers == 1 ? "s" : "");
}

/* Everything but the files and parameters, which are known only afterwards. */
static void print_rest(printer *p, const node_list *list)
{
    for (const condition_list *c = p->f->own->conditions; c; c = c->next)
        fprintf(p->out, "assume %s\n", condition_text(p->f, c->condition));
    for (const text_list *t = p->f->own->notes; t; t = t->next) {
        fputs("note ", p->out);
        print_quoted(p->out, t->text);
        fputc('\n', p->out);
    }
    for (const array *a = p->f->own->arrays; a; a = a->next)
        if (a->used) print_array(p, a);
    fputc('\n', p->out);
    print_list(p, list);
}

/* In the order in which they were seen. */
static void find_parameters(printer *p)
{
    size_t count = 0;
    for (const fm_atom *a = p->f->atoms; a; a = a->next) count += a->kind == FM_ATOM_PARAMETER;
    p->parameters = fm_front_allocate(p->f, count, sizeof *p->parameters);
    for (const fm_atom *a = p->f->atoms; a; a = a->next)
        if (a->kind == FM_ATOM_PARAMETER) p->parameters[p->parameter_count++] = a;
}

void region_print(fm_front *f, const node_list *list, FILE *out)
{
    printer p = {.f = f};
    unsigned region_file = file_number(f, f->own->region_file);
    mark_arrays(list);
    find_parameters(&p);
    print_overlap(&p);
    /* Which files and parameters are used is known behind the rest. */
    p.out = f->own->scratch = open_memstream(&f->own->scratch_text, &f->own->scratch_size);
    if (!p.out) give_up(f, FM_E_NOMEM, "out of memory");
    print_rest(&p, list);
    bool failed = fclose(p.out) != 0;
    f->own->scratch = NULL;
    p.out = out;
    fputs("fathom-region 1\n", out);
    for (unsigned number = 1; number <= f->own->file_count; number++)
        for (const source_file *s = f->own->files; s; s = s->next)
            if (s->number == number) {
                fprintf(out, "file %u ", number);
                print_quoted(out, s->path);
                fputc('\n', out);
            }
    fputs("function ", out);
    print_quoted(out, spelling(f, f->own->region_function));
    fprintf(out, " @%u:%u-%u\n", region_file, f->own->first_line, f->own->last_line);
    for (size_t i = 0; i < p.parameter_count; i++)
        if (p.parameters[i]->used) fprintf(out, "param %s\n", p.parameters[i]->name);
    if (!failed) fwrite(f->own->scratch_text, 1, f->own->scratch_size, out);
    if (failed) give_up(f, FM_E_NOMEM, "out of memory");
}
