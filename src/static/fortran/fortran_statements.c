/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fortran_statements.c - executable statements as trees. A statement that is not understood becomes one that
 * is refused, with the reason; a construct that is not followed (select, where, …) becomes one such statement
 * with all it holds.
 */
#include "static/fortran/fortran_syntax.h"

#include <stdlib.h>
#include <string.h>

static ft_statement *new_statement(ft_parser *parser, ft_statement_kind kind)
{
    ft_line *line = fm_ft_line(parser);
    ft_statement *made = fm_ft_allocate(parser->context, 1, sizeof *made);
    if (!made) return NULL;
    made->kind = kind;
    made->place = line->place;
    made->label = line->label;
    return made;
}

static ft_statement *refused_statement(ft_parser *parser, ft_statement *statement, const char *why)
{
    if (!statement) statement = new_statement(parser, FT_S_REFUSED);
    if (!statement) return NULL;
    statement->kind = FT_S_REFUSED;
    statement->why = why ? why : "not understood";
    return statement;
}

/* ---- the ends of blocks ---- */

/* Words that close or divide a block, so that a block ends before them. */
static bool ends_block(ft_parser *parser)
{
    static const char *const words[] = {
        "end",          "else",         "elseif",     "elsewhere",     "case",         "contains",
        "enddo",        "endif",        "endselect",  "endwhere",      "endforall",    "endassociate",
        "endblock",     "endcritical",  "endprogram", "endsubroutine", "endfunction",  "endmodule",
        "endsubmodule", "endprocedure", "endteam",    "endtype",       "endinterface", "endblockdata"};
    const ft_token *at = parser->at;
    if (at->kind != FT_NAME || fm_ft_is_assignment(parser)) return false;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strcmp(at->text, words[i]) == 0) {
            /* case, else and contains with something strange behind them are not ours to judge. */
            return true;
        }
    if (!fm_ft_line(parser)->fixed) return false;
    bool end = strncmp(at->text, "end", 3) == 0 && strncmp(at->text, "endfile", 7) != 0;
    return end || strncmp(at->text, "elseif", 6) == 0 || strncmp(at->text, "elsewhere", 9) == 0;
}

/* `end do`, `enddo`; true: passed up to what follows. */
static bool at_end_of(ft_parser *parser, const char *what)
{
    ft_token *start = parser->at;
    if (fm_ft_is_assignment(parser)) return false;
    if (parser->at->kind == FT_NAME && strncmp(parser->at->text, "end", 3) == 0 &&
        strcmp(parser->at->text + 3, what) == 0) {
        parser->at++;
        return true;
    }
    if (fm_ft_word(parser, "end") && fm_ft_word(parser, what)) return true;
    parser->at = start;
    return false;
}

static bool expect_end_of(ft_parser *parser, const char *what, const ft_place *begin)
{
    ft_line *line = fm_ft_line(parser);
    fm_ft_restart(parser);
    if (line && at_end_of(parser, what)) return true;
    return fm_ft_fail(parser->context, FM_E_FORMAT, line ? &line->place : begin,
                      "expected 'end %s' for the one that begins in line %u", what, begin->line);
}

/* ---- loops ---- */

static bool loop_control(ft_parser *parser, ft_statement *made)
{
    made->left = fm_ft_new_expression(parser, FT_X_NAME);
    if (!made->left || !(made->left->text = fm_ft_name(parser))) return false;
    made->left->place.end = parser->at[-1].place.end;
    if (!fm_ft_expect_sign(parser, '=', "'='") || !(made->first = fm_ft_expression(parser)) ||
        !fm_ft_expect_sign(parser, ',', "','") || !(made->last = fm_ft_expression(parser)))
        return false;
    if (fm_ft_sign(parser, ',') && !(made->step = fm_ft_expression(parser))) return false;
    return fm_ft_at_end(parser) || fm_ft_unexpected(parser, "the end of the statement");
}

/* (integer :: i = 1:n): an index that is declared here, unless the unit has a whole number of that name,
 * whose value the loop leaves alone. */
static bool declare_index(ft_parser *parser, ft_unit *unit, const ft_type *type, const ft_expression *index)
{
    ft_symbol *symbol = fm_ft_own_symbol(parser->context, unit, index->text, true);
    if (!symbol) return false;
    if (symbol->rank || (symbol->typed && symbol->type.base != FT_INTEGER_TYPE))
        return fm_ft_puzzled(parser, "an index that has the name of something else");
    if (symbol->typed) return true;
    symbol->type = *type;
    symbol->typed = true;
    symbol->place = index->place;
    return true;
}

/* (i = 1:n, j = 1:m:2, i /= j), at hand. */
static bool index_list(ft_parser *parser, ft_unit *unit, ft_statement *made)
{
    ft_type type;
    if (!fm_ft_expect_sign(parser, '(', "'('")) return false;
    ft_token *start = parser->at;
    const bool typed = fm_ft_type_spec(parser, &type) && fm_ft_sign(parser, FT_COLONS);
    if (!typed) parser->at = start;
    ft_expression *arguments;
    if (!fm_ft_arguments(parser, &arguments)) return false;
    ft_expression **link = &made->indices;
    for (ft_expression *next; arguments; arguments = next) {
        next = arguments->next;
        arguments->next = NULL;
        if (arguments->kind == FT_X_KEYWORD && arguments->left->kind == FT_X_RANGE) {
            if (typed && !declare_index(parser, unit, &type, arguments)) return false;
            *link = arguments;
            link = &arguments->next;
        } else if (!made->mask && !next) {
            made->mask = arguments;
        } else {
            return fm_ft_puzzled(parser, "expected an index and its range");
        }
    }
    return made->indices || fm_ft_puzzled(parser, "expected an index and its range");
}

/* Behind `do`, and its label. */
static bool do_header(ft_parser *parser, ft_unit *unit, ft_statement *made)
{
    if (fm_ft_at_end(parser)) {
        made->kind = FT_S_WHILE;
        return true;
    }
    fm_ft_sign(parser, ',');
    ft_token *start = parser->at;
    bool loop = parser->at->kind == FT_NAME && parser->at[1].kind == FT_SIGN && parser->at[1].sign == '=';
    if (!loop && fm_ft_word(parser, "while") && fm_ft_at_sign(parser, '(')) {
        made->kind = FT_S_WHILE;
        return (made->right = fm_ft_expression(parser)) != NULL;
    }
    if (!loop && fm_ft_word(parser, "concurrent")) {
        made->kind = FT_S_CONCURRENT;
        return index_list(parser, unit, made) &&
               (fm_ft_at_end(parser) ||
                fm_ft_puzzled(parser, "localities of do concurrent are not followed"));
    }
    parser->at = start;
    made->kind = FT_S_DO;
    return loop_control(parser, made);
}

static ft_statement *do_construct(ft_parser *parser, ft_unit *unit)
{
    ft_statement *made = new_statement(parser, FT_S_DO);
    if (!made) return NULL;
    uint32_t label = 0;
    unit->has_loops = true;
    if (parser->at->kind == FT_INTEGER) label = (uint32_t)strtoul(parser->at++->text, NULL, 10);
    if (!do_header(parser, unit, made)) refused_statement(parser, made, parser->why);
    fm_ft_advance(parser);
    made->body = fm_ft_block(parser, unit, label);
    if (parser->context->status != FM_OK) return NULL;
    if (label && parser->closed_label == label) return made; /* its last statement is passed */
    if (label && fm_ft_line(parser) && fm_ft_line(parser)->label == label &&
        expect_end_of(parser, "do", &made->place)) {
        parser->closed_label = label;
        fm_ft_advance(parser);
        return made;
    }
    if (label)
        return fm_ft_fail(parser->context, FM_E_FORMAT, &made->place,
                          "the loop's end, label %u, is not there", label),
               NULL;
    if (!expect_end_of(parser, "do", &made->place)) return NULL;
    fm_ft_advance(parser);
    return made;
}

/* ---- if ---- */

static ft_statement *parse_action(ft_parser *parser, ft_unit *unit);

static ft_branch *new_branch(ft_parser *parser, const ft_place *place)
{
    ft_branch *branch = fm_ft_allocate(parser->context, 1, sizeof *branch);
    if (branch) branch->place = *place;
    return branch;
}

/* else if (…) then, else: passed where at hand. *condition NULL: else. */
static bool at_else(ft_parser *parser, ft_expression **condition)
{
    *condition = NULL;
    if (fm_ft_is_assignment(parser)) return false;
    ft_token *start = parser->at;
    if (parser->at->kind == FT_NAME && strncmp(parser->at->text, "elsewhere", 9) == 0) return false;
    if (fm_ft_word(parser, "elseif") || (fm_ft_word(parser, "else") && fm_ft_word(parser, "if"))) {
        if (fm_ft_sign(parser, '(') && (*condition = fm_ft_expression(parser))) {
            fm_ft_expect_sign(parser, ')', "')'");
            if (!fm_ft_word(parser, "then")) fm_ft_unexpected(parser, "then");
        }
        return true;
    }
    bool alone = parser->at > start;
    if (!alone) parser->at = start;
    return alone;
}

static ft_statement *if_construct(ft_parser *parser, ft_unit *unit, ft_statement *made,
                                  ft_expression *condition)
{
    ft_branch *branch = made->branches = new_branch(parser, &made->place);
    if (!branch) return NULL;
    branch->condition = condition;
    bool last = false;
    for (;;) {
        fm_ft_advance(parser);
        branch->body = fm_ft_block(parser, unit, 0);
        if (parser->context->status != FM_OK) return NULL;
        ft_expression *next;
        fm_ft_restart(parser);
        if (!fm_ft_line(parser) || last || !at_else(parser, &next)) break;
        ft_place place = fm_ft_line(parser)->place;
        if (parser->why) {
            made->kind = FT_S_REFUSED;
            made->why = parser->why;
            made->place = place;
        }
        last = next == NULL && !parser->why;
        branch = branch->next = new_branch(parser, &place);
        if (!branch) return NULL;
        branch->condition = next;
    }
    if (!expect_end_of(parser, "if", &made->place)) return NULL;
    return made;
}

/* Behind `if`. Statement and construct alike. */
static ft_statement *if_statement(ft_parser *parser, ft_unit *unit)
{
    ft_statement *made = new_statement(parser, FT_S_IF);
    if (!made) return NULL;
    ft_expression *condition = NULL;
    if (fm_ft_expect_sign(parser, '(', "'('") && (condition = fm_ft_expression(parser)))
        fm_ft_expect_sign(parser, ')', "')'");
    if (parser->why) {
        /* Is it a construct? Then its end must be found all the same. */
        const char *why = parser->why;
        ft_line *line = fm_ft_line(parser);
        const ft_token *last = line->count ? &line->tokens[line->count - 1] : line->tokens;
        while (last[0].kind != FT_END && last[1].kind != FT_END) last++;
        bool construct = last->kind == FT_NAME && strcmp(last->text, "then") == 0;
        if (construct && !if_construct(parser, unit, made, NULL)) return NULL;
        return refused_statement(parser, made, why);
    }
    if (parser->at->kind == FT_INTEGER)
        return refused_statement(parser, made, "an arithmetic if is not followed");
    ft_token *start = parser->at;
    if (!fm_ft_is_assignment(parser) && fm_ft_word(parser, "then") && fm_ft_at_end(parser))
        return if_construct(parser, unit, made, condition);
    parser->at = start;
    made->branches = new_branch(parser, &made->place);
    if (!made->branches) return NULL;
    made->branches->condition = condition;
    ft_statement *inner = made->branches->body = parse_action(parser, unit);
    if (!inner) return NULL;
    inner->place = start->place;
    inner->place.end = made->place.end;
    inner->label = 0;
    return made;
}

/* ---- constructs that are not followed ---- */

/* Up to its end, whatever is in it. */
static ft_statement *passed_construct(ft_parser *parser, ft_unit *unit, const char *what, const char *why)
{
    ft_statement *made = refused_statement(parser, NULL, why);
    if (!made) return NULL;
    do {
        fm_ft_advance(parser);
        fm_ft_block(parser, unit, 0);
        if (parser->context->status != FM_OK) return NULL;
        fm_ft_restart(parser);
        if (!fm_ft_line(parser)) break;
        if (at_end_of(parser, what)) return made;
        fm_ft_restart(parser);
    } while (strncmp(parser->at->text, "case", 4) == 0 || strncmp(parser->at->text, "els", 3) == 0);
    expect_end_of(parser, what, &made->place);
    return NULL;
}

/* ---- single statements ---- */

static ft_statement *parse_assignment(ft_parser *parser)
{
    ft_statement *made = new_statement(parser, FT_S_ASSIGN);
    if (!made) return NULL;
    made->place = parser->at->place;
    made->place.end = fm_ft_line(parser)->place.end;
    ft_token *sign = parser->at;
    /* The left side: an expression that ends before "=". */
    made->left = fm_ft_expression(parser);
    if (made->left && fm_ft_at_sign(parser, FT_ARROW))
        return refused_statement(parser, made,
                                 "a pointer assignment: what it points to later is not followed");
    if (!made->left || !fm_ft_expect_sign(parser, '=', "'='") || !(made->right = fm_ft_expression(parser)) ||
        (!fm_ft_at_end(parser) && !fm_ft_unexpected(parser, "an operator or the end of the statement")))
        return refused_statement(parser, made, parser->why);
    (void)sign;
    return made;
}

static ft_statement *call_statement(ft_parser *parser)
{
    ft_statement *made = new_statement(parser, FT_S_CALL);
    if (!made) return NULL;
    made->left = fm_ft_expression(parser);
    if (!made->left || (!fm_ft_at_end(parser) && !fm_ft_unexpected(parser, "the end of the statement")))
        return refused_statement(parser, made, parser->why);
    return made;
}

static ft_statement *parse_leave(ft_parser *parser, ft_statement_kind kind)
{
    ft_statement *made = new_statement(parser, kind);
    if (made && parser->at->kind == FT_NAME) made->name = parser->at->text;
    return made;
}

static ft_statement *parse_forall(ft_parser *parser, ft_unit *unit)
{
    ft_statement *made = new_statement(parser, FT_S_CONCURRENT);
    if (!made) return NULL;
    unit->has_loops = made->forall = true;
    if (!index_list(parser, unit, made)) return refused_statement(parser, made, parser->why);
    if (!fm_ft_at_end(parser)) {
        made->body = parse_assignment(parser);
        if (made->body) made->body->label = 0;
        return made->body ? made : NULL;
    }
    fm_ft_advance(parser);
    made->body = fm_ft_block(parser, unit, 0);
    if (parser->context->status != FM_OK || !expect_end_of(parser, "forall", &made->place)) return NULL;
    return made;
}

/* where (…) …: a construct or one statement. */
static ft_statement *parse_where(ft_parser *parser, ft_unit *unit)
{
    static const char why[] = "where: which elements are assigned depends on data";
    if (fm_ft_sign(parser, '(')) {
        int depth = 1;
        for (; depth && !fm_ft_at_end(parser); parser->at++) {
            depth += fm_ft_at_sign(parser, '(');
            depth -= fm_ft_at_sign(parser, ')');
        }
    }
    return fm_ft_at_end(parser) ? passed_construct(parser, unit, "where", why)
                                : refused_statement(parser, NULL, why);
}

/* A statement that is no construct and no declaration. */
static ft_statement *parse_action(ft_parser *parser, ft_unit *unit)
{
    static const struct {
        const char *word, *why; /* why NULL: it touches nothing */
    } others[] = {
        {"goto", "go to is not followed"},
        {"go", "go to is not followed"},
        {"assign", "an assigned go to is not followed"},
        {"print",
         "input and output are not followed: choose a part without them (!$fathom begin, !$fathom end)"},
        {"write",
         "input and output are not followed: choose a part without them (!$fathom begin, !$fathom end)"},
        {"read",
         "input and output are not followed: choose a part without them (!$fathom begin, !$fathom end)"},
        {"open",
         "input and output are not followed: choose a part without them (!$fathom begin, !$fathom end)"},
        {"close",
         "input and output are not followed: choose a part without them (!$fathom begin, !$fathom end)"},
        {"rewind",
         "input and output are not followed: choose a part without them (!$fathom begin, !$fathom end)"},
        {"inquire",
         "input and output are not followed: choose a part without them (!$fathom begin, !$fathom end)"},
        {"backspace",
         "input and output are not followed: choose a part without them (!$fathom begin, !$fathom end)"},
        {"flush",
         "input and output are not followed: choose a part without them (!$fathom begin, !$fathom end)"},
        {"pause", "pause is not followed"},
        {"entry", "entry is not followed"},
        {"sync", "images are not followed"},
        {"deallocate", NULL},
        {"nullify", "a pointer assignment: what it points to later is not followed"},
    };
    if (fm_ft_is_assignment(parser)) return parse_assignment(parser);
    if (fm_ft_word(parser, "if")) return if_statement(parser, unit);
    if (fm_ft_word(parser, "call")) return call_statement(parser);
    if (fm_ft_word(parser, "continue")) return new_statement(parser, FT_S_CONTINUE);
    if (fm_ft_word(parser, "cycle")) return parse_leave(parser, FT_S_CYCLE);
    if (fm_ft_word(parser, "exit")) return parse_leave(parser, FT_S_EXIT);
    if (fm_ft_word(parser, "return")) return new_statement(parser, FT_S_RETURN);
    if (fm_ft_word(parser, "stop") || fm_ft_word(parser, "errorstop") ||
        (fm_ft_word(parser, "error") && fm_ft_word(parser, "stop")))
        return new_statement(parser, FT_S_STOP);
    if (fm_ft_word(parser, "allocate")) {
        ft_statement *made = new_statement(parser, FT_S_ALLOCATE);
        if (!made) return NULL;
        if (!fm_ft_expect_sign(parser, '(', "'('") || !fm_ft_arguments(parser, &made->left))
            return refused_statement(parser, made, parser->why);
        return made;
    }
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (fm_ft_word(parser, others[i].word))
            return others[i].why ? refused_statement(parser, NULL, others[i].why)
                                 : new_statement(parser, FT_S_NOTHING);
    fm_ft_unexpected(parser, "a statement");
    return refused_statement(parser, NULL, parser->why);
}

static ft_statement *parse_construct(ft_parser *parser, ft_unit *unit)
{
    ft_token *start = parser->at;
    if (!fm_ft_is_assignment(parser)) {
        if (fm_ft_word(parser, "do")) return do_construct(parser, unit);
        ft_statement *made = NULL;
        bool found = true;
        if (fm_ft_word(parser, "forall")) {
            made = parse_forall(parser, unit);
        } else if (fm_ft_word(parser, "where")) {
            made = parse_where(parser, unit);
        } else if (fm_ft_word(parser, "selectcase") || fm_ft_word(parser, "selecttype") ||
                   fm_ft_word(parser, "select")) {
            made =
                passed_construct(parser, unit, "select", "select is not followed: write it as if, else if");
        } else if (fm_ft_word(parser, "associate")) {
            made = passed_construct(parser, unit, "associate", "associate is not followed");
        } else if (fm_ft_word(parser, "block") && fm_ft_at_end(parser)) {
            made = passed_construct(parser, unit, "block", "block is not followed");
        } else if (fm_ft_word(parser, "critical")) {
            made = passed_construct(parser, unit, "critical", "images are not followed");
        } else {
            found = false;
        }
        if (found) {
            if (made) fm_ft_advance(parser);
            return made;
        }
    }
    parser->at = start;
    ft_statement *made = parse_action(parser, unit);
    fm_ft_advance(parser);
    return made;
}

/* f(x) = …, among the declarations: a statement function. */
static bool statement_function(ft_parser *parser, ft_unit *unit, const ft_statement *statement)
{
    if (statement->kind != FT_S_ASSIGN || statement->left->kind != FT_X_INDEX ||
        statement->left->left->kind != FT_X_NAME || unit->host || unit->uses)
        return false;
    for (const ft_expression *a = statement->left->arguments; a; a = a->next)
        if (a->kind != FT_X_NAME) return false;
    ft_symbol *symbol = fm_ft_own_symbol(parser->context, unit, statement->left->left->text, false);
    if (symbol && (symbol->rank || symbol->type.base == FT_CHARACTER_TYPE)) return false;
    symbol = fm_ft_own_symbol(parser->context, unit, statement->left->left->text, true);
    if (!symbol) return false;
    symbol->function = statement->right;
    symbol->place = statement->place;
    return true;
}

/* The name in front of a construct, which is passed; NULL: none. */
static const char *construct_name(ft_parser *parser)
{
    if (parser->at->kind != FT_NAME || parser->at[1].kind != FT_SIGN || parser->at[1].sign != ':')
        return NULL;
    const char *name = parser->at->text;
    parser->at += 2;
    return name;
}

ft_statement *fm_ft_block(ft_parser *parser, ft_unit *unit, uint32_t label)
{
    ft_statement *first = NULL, **link = &first;
    ft_line *line;
    bool executable = unit->body || parser->blocks;
    if (++parser->blocks > FT_MOST_BLOCKS) {
        fm_ft_fail(parser->context, FM_E_FORMAT, fm_ft_line(parser) ? &fm_ft_line(parser)->place : NULL,
                   "more than %d blocks inside each other", FT_MOST_BLOCKS);
        return NULL;
    }
    while ((line = fm_ft_line(parser)) && parser->context->status == FM_OK) {
        fm_ft_restart(parser);
        parser->closed_label = 0;
        ft_statement *made = NULL;
        if (line->marker) {
            made = new_statement(parser, FT_S_MARKER);
            if (made) made->marker = line->marker;
            unit->has_regions |= line->marker == FT_REGION_BEGIN;
            fm_ft_advance(parser);
        } else if (ends_block(parser)) {
            break;
        } else if (!fm_ft_is_assignment(parser) && fm_ft_declaration(parser, unit)) {
            fm_ft_advance(parser);
            continue;
        } else {
            fm_ft_restart(parser);
            const char *name = construct_name(parser);
            made = parse_construct(parser, unit);
            if (made && name) made->name = name;
            if (made && !executable && statement_function(parser, unit, made)) continue;
            executable |= made && made->kind != FT_S_MARKER;
        }
        if (!made) break;
        *link = made;
        link = &made->next;
        if (label && (line->label == label || parser->closed_label == label)) {
            parser->closed_label = label;
            break;
        }
    }
    parser->blocks--;
    return first;
}
