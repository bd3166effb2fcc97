/* SPDX-License-Identifier: Apache-2.0 */
/* clang_tree.h - the region while it is made: loops, guards, statements and accesses, with formulas in them.
 */
#ifndef FATHOM_CLANG_TREE_H
#define FATHOM_CLANG_TREE_H

#include "static/front/front_middle.h"

#include <stdio.h>

typedef struct place {
    struct source_file *file;
    unsigned line, column;
} place;

typedef enum condition_kind {
    CONDITION_TRUE,
    CONDITION_FALSE,
    CONDITION_NOT_NEGATIVE, /* form >= 0 */
    CONDITION_ZERO,
    CONDITION_NOT_ZERO,
    CONDITION_AND,
    CONDITION_OR,
} condition_kind;

typedef struct condition {
    condition_kind kind;
    const fm_form *form;
    struct condition *left, *right;
} condition;

typedef struct condition_list {
    struct condition_list *next;
    condition *condition;
} condition_list;

typedef struct text_list {
    struct text_list *next;
    const char *text;
} text_list;

typedef struct operations {
    uint64_t adds, multiplies, divides, specials, integers;
} operations;

typedef struct touch {
    struct touch *next;
    bool store;
    struct array *array;
    const fm_form **subscripts;
    uint64_t offset, bytes; /* of the element */
    place place;
    const char *text;
} touch;

typedef struct node node;
typedef struct node_list {
    node *first, **end;
} node_list;

typedef enum node_kind { NODE_LOOP, NODE_IF, NODE_STATEMENT } node_kind;

struct node {
    node_kind kind;
    node *next;
    place place;
    fm_atom *variable; /* LOOP */
    const fm_form *first, *last;
    int64_t step;
    condition *condition; /* IF */
    node_list body, otherwise;
    operations operations; /* STATEMENT */
    touch *accesses, **accesses_end;
    bool kept; /* even without accesses and operations */
};

void list_begin(node_list *list);
node *node_new(fm_front *f, node_kind kind, place where);
void node_append(node_list *list, node *made);
void list_join(node_list *list, node_list *behind); /* behind is empty afterwards */

condition *condition_constant(fm_front *f, bool holds);
condition *condition_of(fm_front *f, condition_kind kind, const fm_form *form); /* numbers are decided */
condition *condition_join(fm_front *f, condition_kind kind, condition *left, condition *right);
condition *condition_not(fm_front *f, const condition *of);
condition *condition_replace(fm_front *f, const condition *of, const fm_replacement *replacements,
                             size_t count);
bool condition_mentions(const condition *of, const fm_atom *a);
bool condition_varies(const condition *of);
bool condition_equal(const condition *left, const condition *right);

void tree_replace(fm_front *f, node_list *list, const fm_replacement *replacements, size_t count);
/* Every formula must be affine, nothing unknown left: else refused, with its place. */
void tree_check(fm_front *f, const node_list *list);

const char *condition_text(fm_front *f, const condition *c);

/* tree_print.c */
void region_print(fm_front *f, const node_list *list, FILE *out);

#endif
