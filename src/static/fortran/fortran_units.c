/* SPDX-License-Identifier: Apache-2.0 */
/* fortran_units.c - program units: programs, subroutines, functions, modules, and what they contain. */
#include "static/fortran/fortran_parser.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_UNITS_INSIDE = 8 };

static bool has_word(ft_parser *parser, const char *word)
{
    return fm_ft_word(parser, word);
}

/* Is `end`, `end subroutine x` at hand? It is not passed. */
static bool at_unit_end(ft_parser *parser)
{
    static const char *const kinds[] = {"program",   "subroutine", "function", "module",
                                        "submodule", "procedure",  "block"};
    ft_token *start = parser->at;
    bool end = false;
    if (!fm_ft_is_assignment(parser) && has_word(parser, "end")) {
        end = fm_ft_at_end(parser);
        for (size_t i = 0; i < sizeof kinds / sizeof *kinds && !end; i++) end = has_word(parser, kinds[i]);
        if (end && parser->at[-1].kind == FT_NAME && strcmp(parser->at[-1].text, "block") == 0)
            end = has_word(parser, "data");
    } else if (parser->at->kind == FT_NAME && strncmp(parser->at->text, "end", 3) == 0 &&
               !fm_ft_is_assignment(parser)) {
        for (size_t i = 0; i < sizeof kinds / sizeof *kinds && !end; i++)
            end = strcmp(parser->at->text + 3, kinds[i]) == 0;
    }
    parser->at = start;
    return end;
}

static bool parse_dummies(ft_parser *parser, ft_unit *unit)
{
    if (!fm_ft_sign(parser, '(')) return true;
    size_t count = 0;
    for (const ft_token *at = parser->at; at->kind != FT_END; at++) count += at->kind == FT_NAME;
    unit->dummies = fm_ft_allocate(parser->context, count + 1, sizeof *unit->dummies);
    if (!unit->dummies) return false;
    if (fm_ft_sign(parser, ')')) return true;
    do {
        if (fm_ft_sign(parser, '*')) return fm_ft_puzzled(parser, "alternate returns are not followed");
        ft_place place = parser->at->place;
        const char *name = fm_ft_name(parser);
        ft_symbol *symbol = name ? fm_ft_own_symbol(parser->context, unit, name, true) : NULL;
        if (!symbol) return false;
        symbol->dummy = true;
        symbol->place = place;
        symbol->number = unit->dummy_count;
        unit->dummies[unit->dummy_count++] = symbol;
    } while (fm_ft_sign(parser, ','));
    return fm_ft_expect_sign(parser, ')', "')'");
}

/* The statement that opens a unit; false: it is none. It stays at hand. */
static bool parse_header(ft_parser *parser, ft_unit *unit)
{
    static const char *const prefixes[] = {"pure", "elemental", "impure", "recursive", "non_recursive"};
    ft_type type;
    bool typed = false, passed = true;
    if (parser->at->kind != FT_NAME || fm_ft_is_assignment(parser)) return false;
    unit->place = fm_ft_line(parser)->place;
    /* `module procedure` and `module subroutine` are of submodules. */
    while (passed) {
        passed = false;
        for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes && !passed; i++) {
            passed = fm_ft_word(parser, prefixes[i]);
            unit->elemental |= passed && i == 1;
        }
        if (!passed && !typed) passed = typed = fm_ft_type_spec(parser, &type);
        if (parser->why) return false;
    }
    if (fm_ft_word(parser, "subroutine")) {
        unit->kind = FT_SUBROUTINE;
    } else if (fm_ft_word(parser, "function")) {
        unit->kind = FT_FUNCTION;
    } else if (typed) {
        return false;
    } else if (fm_ft_word(parser, "program")) {
        unit->kind = FT_PROGRAM;
    } else if (fm_ft_word(parser, "blockdata") ||
               (fm_ft_word(parser, "block") && fm_ft_word(parser, "data"))) {
        unit->kind = FT_BLOCK_DATA;
        unit->name = "block data";
        return true;
    } else if (fm_ft_word(parser, "module") || fm_ft_word(parser, "submodule")) {
        unit->kind = FT_MODULE;
        if (fm_ft_sign(parser, '(')) {
            while (!fm_ft_at_end(parser) && !fm_ft_sign(parser, ')')) parser->at++;
            unit->why = "a submodule is not followed";
            unit->why_place = unit->place;
        }
    } else {
        return false;
    }
    unit->name = unit->result = fm_ft_name(parser);
    if (!unit->name) return false;
    if (unit->kind != FT_SUBROUTINE && unit->kind != FT_FUNCTION) return fm_ft_at_end(parser);
    parse_dummies(parser, unit);
    if (fm_ft_word(parser, "result") && fm_ft_sign(parser, '(')) unit->result = fm_ft_name(parser);
    if (parser->why && !unit->why) {
        unit->why = parser->why;
        unit->why_place = unit->place;
    }
    if (unit->kind == FT_FUNCTION && unit->result) {
        ft_symbol *result = fm_ft_own_symbol(parser->context, unit, unit->result, true);
        if (!result) return false;
        result->place = unit->place;
        if (typed) {
            result->type = type;
            result->typed = true;
        }
    }
    return true;
}

static bool parse_units(ft_parser *parser, ft_unit *host, ft_unit **first, unsigned depth);

static uint32_t line_of(const ft_parser *parser)
{
    size_t count = parser->source->count;
    if (count == 0) return 1;
    return parser->source->lines[parser->line < count ? parser->line : count - 1].place.line;
}

/* From behind its header to behind its end. */
static bool unit_body(ft_parser *parser, ft_unit *unit, unsigned depth)
{
    ft_context *context = parser->context;
    unit->body = fm_ft_block(parser, unit, 0);
    if (context->status != FM_OK) return false;
    if (fm_ft_line(parser) && !fm_ft_is_assignment(parser) && fm_ft_word(parser, "contains") &&
        fm_ft_at_end(parser)) {
        fm_ft_advance(parser);
        if (!parse_units(parser, unit, &unit->children, depth + 1)) return false;
    }
    fm_ft_restart(parser);
    unit->last_line = line_of(parser);
    if (!fm_ft_line(parser))
        return unit->kind == FT_PROGRAM && !unit->place.line
                   ? true
                   : fm_ft_fail(context, FM_E_FORMAT, &unit->place, "'%.100s' has no end",
                                unit->name ? unit->name : "the program");
    if (!at_unit_end(parser))
        return fm_ft_fail(context, FM_E_FORMAT, &fm_ft_line(parser)->place,
                          "this ends something that was not begun in '%.100s'",
                          unit->name ? unit->name : "the program");
    fm_ft_advance(parser);
    return true;
}

static bool parse_units(ft_parser *parser, ft_unit *host, ft_unit **first, unsigned depth)
{
    ft_context *context = parser->context;
    ft_unit **link = first;
    while (fm_ft_line(parser)) {
        fm_ft_restart(parser);
        if (fm_ft_line(parser)->marker) {
            fm_ft_advance(parser);
            continue;
        }
        if (host && at_unit_end(parser)) return true;
        if (depth == MOST_UNITS_INSIDE)
            return fm_ft_fail(context, FM_E_FORMAT, &fm_ft_line(parser)->place,
                              "more than %d units inside each other", MOST_UNITS_INSIDE);
        if (++parser->units > FT_MOST_UNITS)
            return fm_ft_fail(context, FM_E_LIMIT, &fm_ft_line(parser)->place,
                              "more than %d procedures and modules", FT_MOST_UNITS);
        ft_unit *unit = fm_ft_allocate(context, 1, sizeof *unit);
        if (!unit) return false;
        if (parse_header(parser, unit)) {
            fm_ft_advance(parser);
        } else {
            if (context->status != FM_OK) return false;
            if (host)
                return fm_ft_fail(context, FM_E_FORMAT, &fm_ft_line(parser)->place,
                                  "expected a subroutine or a function, or the end of '%.100s'", host->name);
            *unit = (ft_unit){.kind = FT_PROGRAM, .name = "main", .result = "main"};
            fm_ft_restart(parser);
        }
        unit->host = host;
        size_t before = parser->line;
        *link = unit;
        link = &unit->next;
        if (!unit_body(parser, unit, depth)) return false;
        if (!unit->place.line && before < parser->source->count)
            unit->place = parser->source->lines[before].place;
    }
    return true;
}

ft_unit *fm_ft_parse(ft_context *context, const ft_source *source)
{
    ft_parser parser = {.context = context, .source = source};
    ft_unit *units = NULL;
    fm_ft_restart(&parser);
    if (!parse_units(&parser, NULL, &units, 0)) return NULL;
    if (!units) fm_ft_fail(context, FM_E_FORMAT, NULL, "there is no statement in it");
    return units;
}
