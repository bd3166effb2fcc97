/* SPDX-License-Identifier: Apache-2.0 */
/*
 * front_print.c - the region as text (docs/STATIC-IR.md). Which files and parameters are used is looked up
 * before anything is written: they are declared first.
 */
#include "base/error.h"
#include "static/front/front_middle.h"

#include <inttypes.h>
#include <string.h>

unsigned fm_front_file_number(fm_front *f, fm_front_file *file)
{
    if (file->number) return file->number;
    file->number = ++f->file_count;
    if (f->last_file)
        f->last_file->next = file;
    else
        f->files = file;
    f->last_file = file;
    return file->number;
}

/* Is a guard as good as decided? Then only what is executed is shown. */
static const fm_front_list *decided_list(const fm_front *f, const fm_front_node *n)
{
    if (f->as_made || n->condition->form || n->condition->left) return NULL;
    return n->condition->kind == FM_GUARD_TRUE ? &n->body : &n->otherwise;
}

/* ---- what is used ---- */

static void number_files(fm_front *f, const fm_front_list *list)
{
    for (const fm_front_node *n = list->first; n; n = n->next) {
        const fm_front_list *only = n->kind == FM_FRONT_IF ? decided_list(f, n) : NULL;
        if (only) {
            number_files(f, only);
            continue;
        }
        if (n->place.file) fm_front_file_number(f, n->place.file);
        for (const fm_front_touch *a = n->accesses; a; a = a->next)
            if (a->place.file) fm_front_file_number(f, a->place.file);
        number_files(f, &n->body);
        number_files(f, &n->otherwise);
    }
}

static void mark_arrays(const fm_front_list *list)
{
    for (const fm_front_node *n = list->first; n; n = n->next) {
        for (const fm_front_touch *a = n->accesses; a; a = a->next) a->array->used = true;
        mark_arrays(&n->body);
        mark_arrays(&n->otherwise);
    }
}

static void use_guard(fm_front *f, const fm_guard *of)
{
    for (unsigned i = 0; i < 2 && of->sign; i++) fm_form_use(of->sides[i]);
    if (of->form && !of->sign) fm_form_use(of->form);
    if (of->left) use_guard(f, of->left);
    if (of->right) use_guard(f, of->right);
}

static void use_list(fm_front *f, const fm_front_list *list)
{
    for (const fm_front_node *n = list->first; n; n = n->next) {
        const fm_front_list *only = n->kind == FM_FRONT_IF ? decided_list(f, n) : NULL;
        if (only) {
            use_list(f, only);
            continue;
        }
        if (n->first) fm_form_use(n->first);
        if (n->last) fm_form_use(n->last);
        if (n->condition) use_guard(f, n->condition);
        for (const fm_front_touch *a = n->accesses; a; a = a->next)
            for (unsigned i = 0; i < a->array->rank; i++) fm_form_use(a->subscripts[i]);
        use_list(f, &n->body);
        use_list(f, &n->otherwise);
    }
}

static void find_used(fm_front *f, const fm_front_list *list, fm_front_file *region_file)
{
    fm_front_file_number(f, region_file);
    mark_arrays(list);
    for (const fm_front_array *a = f->arrays; a; a = a->next)
        if (a->used && a->place.file) fm_front_file_number(f, a->place.file);
    number_files(f, list);
    use_list(f, list);
    for (const struct fm_front_lines *c = f->conditions; c; c = c->next) use_guard(f, c->condition);
    for (fm_front_array *a = f->arrays; a; a = a->next)
        for (unsigned i = 0; i < a->rank && a->used; i++) {
            /* A last extent that nothing else needs stays unknown. */
            if (i + 1 == a->rank && a->last_extent && !a->last_extent->used) a->extents[i] = NULL;
            if (a->extents[i]) fm_form_use(a->extents[i]);
        }
}

/* ---- the text ---- */

enum { MOST_NESTED = 160 };

typedef struct printer {
    fm_front *f;
    FILE *out;
    const fm_atom *loops[MOST_NESTED];
    unsigned depth;
    bool failed;
} printer;

static void print_form(printer *p, const fm_form *form)
{
    const char *text = fm_form_text(p->f, form);
    p->failed |= !text;
    fputs(text ? text : "", p->out);
}

static void print_quoted(FILE *out, const char *text)
{
    fputc('"', out);
    for (; *text; text++) {
        if (*text == '"' || *text == '\\') fputc('\\', out);
        if (*text == '\n')
            fputs("\\n", out);
        else
            fputc((unsigned char)*text < ' ' ? ' ' : *text, out);
    }
    fputc('"', out);
}

static void print_place(printer *p, const fm_front_place *where)
{
    if (!where->file) return;
    fprintf(p->out, " @%u:%u", where->file->number, where->line);
    if (where->column) fprintf(p->out, ":%u", where->column);
}

static void print_indent(printer *p)
{
    fprintf(p->out, "%*s", (int)(2 * (p->depth < 20 ? p->depth : 20)), "");
}

static void print_access(printer *p, const fm_front_touch *a)
{
    fprintf(p->out, " %s %s", a->store ? "store" : "load", a->array->name);
    for (unsigned i = 0; i < a->array->rank; i++) {
        fputc('[', p->out);
        print_form(p, a->subscripts[i]);
        fputc(']', p->out);
    }
    if (a->offset || a->bytes != a->array->bytes)
        fprintf(p->out, " member %" PRIu64 " %" PRIu64, a->offset, a->bytes);
    print_place(p, &a->place);
    if (a->text) {
        fputc(' ', p->out);
        print_quoted(p->out, a->text);
    }
}

static void print_statement(printer *p, const fm_front_node *n)
{
    const fm_region_operations *o = &n->operations;
    const struct {
        const char *word;
        uint64_t count;
    } counts[] = {{"adds", o->adds},
                  {"multiplies", o->multiplies},
                  {"divides", o->divides},
                  {"specials", o->specials},
                  {"integers", o->integers}};
    print_indent(p);
    fputs("do", p->out);
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++)
        if (counts[i].count) fprintf(p->out, " %s %" PRIu64, counts[i].word, counts[i].count);
    print_place(p, &n->place);
    fputs(" {", p->out);
    for (const fm_front_touch *a = n->accesses; a; a = a->next) print_access(p, a);
    fputs(n->accesses ? " }\n" : "}\n", p->out);
}

/* A loop's name hides others: it must be none that its bounds or its body may use. */
static const char *loop_name(printer *p, const fm_atom *of)
{
    const char *name = of->name;
    for (unsigned turn = 1; name; turn++) {
        if (turn > 1) name = fm_front_text(p->f, "%s.%u", of->name, turn);
        bool taken = name && fm_atom_named(p->f, name, false);
        for (unsigned i = 0; i < p->depth && name; i++)
            taken |= p->loops[i] && strcmp(p->loops[i]->printed, name) == 0;
        if (!taken) return name;
    }
    return NULL;
}

static void print_list(printer *p, const fm_front_list *list);

static void print_body(printer *p, const fm_front_list *list, const fm_atom *of)
{
    fputs(" {\n", p->out);
    if (p->depth >= p->f->most_nested) {
        fm_front_fail(p->f, FM_E_LIMIT, NULL, "loops and guards are nested too deeply");
        p->failed = true;
        return;
    }
    FM_ASSERT(p->depth < MOST_NESTED);
    p->loops[p->depth++] = of;
    print_list(p, list);
    p->loops[--p->depth] = NULL;
    print_indent(p);
    fputs("}", p->out);
}

static void print_loop(printer *p, const fm_front_node *n)
{
    print_indent(p);
    n->variable->printed = loop_name(p, n->variable);
    if (!n->variable->printed) {
        p->failed = true;
        return;
    }
    fprintf(p->out, "for %s = ", n->variable->printed);
    print_form(p, n->first);
    fprintf(p->out, " %s ", n->step < 0 ? "downto" : "to");
    print_form(p, n->last);
    if (n->step != 1 && n->step != -1) fprintf(p->out, " step %" PRId64, n->step < 0 ? -n->step : n->step);
    print_place(p, &n->place);
    print_body(p, &n->body, n->variable);
    fputc('\n', p->out);
}

static void print_if(printer *p, const fm_front_node *n)
{
    const bool turned = !p->f->as_made && !n->body.first; /* only what happens otherwise */
    const fm_guard *c = turned ? fm_guard_not(p->f, n->condition) : n->condition;
    const char *text = c ? fm_guard_text(p->f, c) : NULL;
    print_indent(p);
    p->failed |= !text;
    fprintf(p->out, "if %s", text ? text : "");
    print_place(p, &n->place);
    print_body(p, turned ? &n->otherwise : &n->body, NULL);
    if (!turned && n->otherwise.first) {
        fputs(" else", p->out);
        print_body(p, &n->otherwise, NULL);
    }
    fputc('\n', p->out);
}

static void print_list(printer *p, const fm_front_list *list)
{
    for (const fm_front_node *n = list->first; n && !p->failed; n = n->next) {
        const fm_front_list *only = n->kind == FM_FRONT_IF ? decided_list(p->f, n) : NULL;
        if (only)
            print_list(p, only);
        else if (n->kind == FM_FRONT_IF)
            print_if(p, n);
        else if (n->kind == FM_FRONT_LOOP)
            print_loop(p, n);
        else
            print_statement(p, n);
    }
}

/* ---- declarations ---- */

static void print_array(printer *p, const fm_front_array *a)
{
    bool lows = false;
    fprintf(p->out, "array %s", a->name);
    for (unsigned i = 0; i < a->rank; i++) {
        fputc('[', p->out);
        if (a->extents[i]) print_form(p, a->extents[i]);
        fputc(']', p->out);
        lows |= a->lows[i] != 0;
    }
    fprintf(p->out, " of %" PRIu64, a->bytes);
    if (a->columns && a->rank > 1) fputs(" column-major", p->out);
    if (lows) fputs(" low", p->out);
    for (unsigned i = 0; i < a->rank && lows; i++) fprintf(p->out, " %" PRId64, a->lows[i]);
    print_place(p, &a->place);
    fputc('\n', p->out);
}

static void note_overlap(fm_front *f)
{
    const char *names = NULL;
    unsigned pointers = 0, others = 0;
    for (const fm_front_array *a = f->arrays; a; a = a->next) {
        if (!a->used || !a->pointer) continue;
        if (a->restricted) {
            others++;
            continue;
        }
        pointers++;
        names = names ? fm_front_text(f, "%s, %s", names, a->name) : a->name;
    }
    if (pointers == 0 || pointers + others < 2) return;
    fm_front_note(f, "what %s point%s to does not overlap with other arrays", names,
                  pointers == 1 ? "s" : "");
}

static void print_parameters(printer *p)
{
    for (const fm_atom *a = p->f->atoms; a; a = a->next) {
        if (a->kind != FM_ATOM_PARAMETER || !a->used) continue;
        fprintf(p->out, "param %s", a->name);
        if (a->has_number) fprintf(p->out, " = %" PRId64, a->constant);
        fputc('\n', p->out);
    }
    for (const fm_atom *a = p->f->atoms; a; a = a->next)
        if (a->kind == FM_ATOM_PARAMETER && a->used && a->fixed)
            fprintf(p->out, "assume %s == %" PRId64 "\n", a->name, a->constant);
    for (const struct fm_front_lines *c = p->f->conditions; c; c = c->next)
        fprintf(p->out, "assume %s\n", fm_guard_text(p->f, c->condition));
}

bool fm_front_print(fm_front *f, const fm_front_list *list, const fm_front_function *function, FILE *out)
{
    printer p = {.f = f, .out = out};
    find_used(f, list, function->file);
    note_overlap(f);
    fputs("fathom-region 1\n", out);
    for (const fm_front_file *file = f->files; file; file = file->next) {
        fprintf(out, "file %u ", file->number);
        print_quoted(out, file->path);
        fputc('\n', out);
    }
    fputs("function ", out);
    print_quoted(out, function->name);
    fprintf(out, " @%u:%u-%u\n", function->file->number, function->first_line, function->last_line);
    print_parameters(&p);
    for (const struct fm_front_lines *t = f->notes; t; t = t->next) {
        fputs("note ", out);
        print_quoted(out, t->text);
        fputc('\n', out);
    }
    for (const fm_front_array *a = f->arrays; a; a = a->next)
        if (a->used) print_array(&p, a);
    fputc('\n', out);
    print_list(&p, list);
    return !p.failed && !ferror(out);
}
