/* SPDX-License-Identifier: Apache-2.0 */
/* csv_choice.c - which column of a table is the key. */
#include "trace/import/csv.h"

#include "base/error.h"
#include "trace/lines/lines.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ======== names of columns ======== */

/* Docs/TRACES.md has the same lists for people. */

enum { MOST_WORDS = 8, LONGEST_WORD = 24 };

typedef struct name_words {
    size_t count; /* 0: no name that says anything */
    char word[MOST_WORDS][LONGEST_WORD];
} name_words;

static bool is_lower(char c)
{
    return c >= 'a' && c <= 'z';
}

static bool is_upper(char c)
{
    return c >= 'A' && c <= 'Z';
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Whether a word ends before name[at]: in "ByteOffset" before O, in "LBANumber" before N. */
static bool column_names_turns(const char *name, size_t length, size_t at)
{
    if (!is_upper(name[at])) return false;
    const bool more = at + 1 < length && (is_lower(name[at + 1]) || is_upper(name[at + 1]));
    if (name[at] == 'B' && !more) return false; /* KiB */
    if (is_lower(name[at - 1])) return true;
    return is_upper(name[at - 1]) && at + 1 < length && is_lower(name[at + 1]);
}

static name_words column_names_cut(const char *name, size_t length)
{
    name_words all = {0};
    size_t used = 0;
    for (size_t at = 0; at <= length; at++) {
        const char c = at < length ? name[at] : ' ';
        const bool part = is_lower(c) || is_upper(c) || is_digit(c);
        if (used > 0 && (!part || column_names_turns(name, length, at))) {
            all.count++;
            used = 0;
        }
        if (!part) continue;
        if (all.count == MOST_WORDS || used + 1 == LONGEST_WORD) return (name_words){0};
        all.word[all.count][used++] = (char)(is_upper(c) ? c + ('a' - 'A') : c);
    }
    return all;
}

static bool is_one_of(const char *word, const char *const *list)
{
    for (; *list; list++)
        if (strcmp(word, *list) == 0) return true;
    return false;
}

static bool any_is_one_of(const name_words *all, const char *const *list)
{
    for (size_t i = 0; i < all->count; i++)
        if (is_one_of(all->word[i], list)) return true;
    return false;
}

static const char *const bytes[] = {"byte", "bytes", "b", NULL};
/* Numbers of things, or amounts, that are no bytes. */
static const char *const amounts[] = {
    "sectors", "blocks", "blks",   "pages", "lbas", "clusters", "chunks", "nlb",       "nblocks", "nsectors",
    "kb",      "kib",    "kbytes", "mb",    "mib",  "mbytes",   "gb",     "kilobytes", NULL};
static const char *const places[] = {"sector",   "block",   "blk",  "blkno", "blocknr", "blockno",
                                     "blocknum", "blockid", "page", "pfn",   "vpn",     "lpn",
                                     "lba",      "slba",    "lbn",  "pba",   "cluster", NULL};
static const char *const bytewise[] = {"offset", "address", "addr", "vaddr", "paddr", NULL};
static const char *const counting[] = {"count", "cnt", "num", "nr", "n", "number", NULL};

/* Words behind a name that give its unit or notation. */
static bool is_ending(const char *word)
{
    static const char *const others[] = {"in", "hex", "dec", "decimal", NULL};
    return is_one_of(word, bytes) || is_one_of(word, amounts) || is_one_of(word, others) || is_digit(word[0]);
}

/* Words behind another that make a name of it. */
static const char *const numbers[] = {"id", "no", "nr", "num", "number", "index", "hash", "name", NULL};

/* The words of a name without its units. */
static name_words cut_without_units(const char *name, size_t length)
{
    name_words all = column_names_cut(name, length);
    while (all.count > 1 && is_ending(all.word[all.count - 1])) all.count--;
    return all;
}

fm_key_likeness fm_column_is_key(const char *name, size_t length)
{
    static const char *const keys[] = {"key", "offset", "address", "addr",     "vaddr", "paddr", "url",
                                       "uri", "object", "obj",     "objectid", "objid", "keyid", NULL};
    /* With a number, an id or a hash behind them. */
    static const char *const numbered[] = {"key", "object", "obj", "chunk", NULL};
    static const char *const lesser[] = {"id",   "hash", "fingerprint", "item",     "document", "content",
                                         "path", "file", "filename",    "pathname", "inode",    NULL};
    static const char *const lesser_numbered[] = {"item",  "document", "doc",   "content", "file",
                                                  "video", "movie",    "photo", "asset",   NULL};
    /* Addresses of people and machines, and ends of ranges. */
    static const char *const strangers[] = {"ip",       "mac",         "email", "mail", "client", "server",
                                            "remote",   "host",        "peer",  "src",  "source", "dst",
                                            "dest",     "destination", "next",  "prev", "end",    "last",
                                            "previous", "return",      NULL};
    const name_words all = cut_without_units(name, length);
    if (all.count == 0 || any_is_one_of(&all, strangers)) return FM_KEY_NO;
    const char *last = all.word[all.count - 1], *before = all.count > 1 ? all.word[all.count - 2] : "";
    if (is_one_of(last, keys) || is_one_of(last, places)) return FM_KEY_YES;
    if (is_one_of(last, numbers) && (is_one_of(before, numbered) || is_one_of(before, places)))
        return FM_KEY_YES;
    if (all.count == 1 && is_one_of(last, lesser)) return FM_KEY_PERHAPS;
    if (all.count == 2 && is_one_of(last, numbers) && is_one_of(before, lesser_numbered))
        return FM_KEY_PERHAPS;
    return FM_KEY_NO;
}

bool fm_column_is_place(const char *name, size_t length)
{
    static const char *const ordinals[] = {"id", "no", "nr", "num", "number", "index", NULL};
    const name_words all = cut_without_units(name, length);
    if (all.count == 0) return false;
    const char *last = all.word[all.count - 1], *before = all.count > 1 ? all.word[all.count - 2] : "";
    return is_one_of(last, places) || is_one_of(last, bytewise) ||
           (is_one_of(last, ordinals) && is_one_of(before, places));
}

bool fm_column_is_identity(const char *name, size_t length)
{
    static const char *const identities[] = {
        "key",    "keys",   "keyid",  "url",    "uri",      "object",   "obj",         "objectid", "objid",
        "id",     "ids",    "hash",   "uuid",   "guid",     "digest",   "fingerprint", "checksum", "md5",
        "sha1",   "sha256", "etag",   "item",   "itemid",   "document", "doc",         "content",  "name",
        "path",   "file",   "inode",  "query",  "filename", "pathname", "video",       "movie",    "photo",
        "userid", "asset",  "string", "prompt", "title",    "user",     "request",     "chunk",    NULL};
    if (fm_column_is_place(name, length)) return false;
    const name_words all = cut_without_units(name, length);
    if (all.count == 0) return false;
    const char *last = all.word[all.count - 1], *before = all.count > 1 ? all.word[all.count - 2] : "";
    return is_one_of(last, identities) || (is_one_of(last, numbers) && is_one_of(before, identities));
}

bool fm_column_is_container(const char *name, size_t length, bool place)
{
    static const char *const of_all[] = {"tablespace", "spc",   "spcnode", "db",    "dbnode", "database",
                                         "schema",     "table", "tbl",     "ns",    "bucket", "namespace",
                                         "keyspace",   "pool",  "tenant",  "vhost", NULL};
    static const char *const of_places[] = {
        "rel",      "relation", "relfilenode", "relnode",  "relid", "relname", "fork",
        "forknum",  "forkno",   "segment",     "seg",      "segno", "file",    "fileid",
        "filename", "filenode", "path",        "pathname", "inode", "ino",     "fd",
        "dev",      "device",   "disk",        "volume",   "vol",   "lun",     "drive",
        "asu",      "host",     "hostname",    "server",   "space", "spaceid", "partition",
        "shard",    "pid",      "process",     "asid",     "array", NULL};
    name_words all = cut_without_units(name, length);
    while (all.count > 1 && is_one_of(all.word[all.count - 1], numbers)) all.count--;
    if (all.count == 0) return false;
    const char *last = all.word[all.count - 1];
    return is_one_of(last, of_all) || (place && is_one_of(last, of_places));
}

bool fm_column_key_counts_units(const char *name, size_t length)
{
    const name_words all = column_names_cut(name, length);
    return !any_is_one_of(&all, bytes) && (any_is_one_of(&all, amounts) || any_is_one_of(&all, places));
}

bool fm_column_size_counts_units(const char *name, size_t length)
{
    const name_words all = column_names_cut(name, length);
    if (any_is_one_of(&all, bytes)) return false; /* the size of a block, of a page is one in bytes */
    return any_is_one_of(&all, amounts) || (any_is_one_of(&all, places) && any_is_one_of(&all, counting));
}

/* ======== the choice ======== */

/* Looks at the rows without changing them. */

/* Values of a column that are shown. */
enum { SHOWN = 3, LISTED = 2 };

char *fm_csv_pass_blank(const fm_csv_rows *rows, char *at)
{
    while (at < rows->end) {
        char *next = at;
        while (*next == ' ' || *next == '\r') next++;
        if (*next != '\n') break;
        at = next + 1;
    }
    return at;
}

char *fm_csv_look_at_row(const fm_csv_rows *rows, char *at, uint64_t *fields, bool *has_number)
{
    uint64_t lines = 0, number;
    fm_csv_step step = FM_CSV_FIELD;
    *fields = 0;
    *has_number = false;
    at = fm_csv_pass_blank(rows, at);
    if (at >= rows->end) return NULL;
    while (step == FM_CSV_FIELD) {
        fm_csv_field field;
        step = fm_csv_next(&at, rows->end, rows->delimiter, &field, &lines);
        if (step != FM_CSV_FIELD && step != FM_CSV_LAST) continue;
        ++*fields;
        if (fm_csv_number(&field, &number)) *has_number = true;
    }
    return step == FM_CSV_LAST ? at : NULL;
}

/* A field of the row, columns counted from 1. False: the row has fewer. */
static bool field_of(const fm_csv_rows *rows, char *row, uint64_t column, fm_csv_field *field)
{
    uint64_t lines = 0;
    fm_csv_step step = FM_CSV_FIELD;
    row = fm_csv_pass_blank(rows, row);
    for (uint64_t number = 1; step == FM_CSV_FIELD && row < rows->end; number++) {
        step = fm_csv_next(&row, rows->end, rows->delimiter, field, &lines);
        if (step != FM_CSV_FIELD && step != FM_CSV_LAST) return false;
        if (number == column) return true;
    }
    return false;
}

static size_t length_of(const fm_csv_field *field)
{
    return (size_t)(field->end - field->from);
}

/* ---- text for people ---- */

typedef struct text {
    char *to;
    size_t size, used;
} text;

static void choice_add(text *into, const char *words)
{
    if (into->used + 1 < into->size)
        into->used += (size_t)snprintf(into->to + into->used, into->size - into->used, "%s", words);
}

static void add_field(text *into, const fm_csv_field *field)
{
    char quote[FM_CSV_QUOTED];
    choice_add(into, fm_text_quote(field->from, length_of(field), quote, sizeof quote));
}

/* The first values of a column, up to `most`. */
static void add_values(const fm_csv_rows *rows, bool header, uint64_t column, size_t most, text *into)
{
    uint64_t fields;
    bool ignored;
    char *row = header ? fm_csv_look_at_row(rows, rows->from, &fields, &ignored) : rows->from;
    size_t shown = 0;
    for (; row; row = fm_csv_look_at_row(rows, row, &fields, &ignored)) {
        fm_csv_field field;
        if (!field_of(rows, row, column, &field)) continue;
        if (shown == most) {
            choice_add(into, ", ...");
            break;
        }
        choice_add(into, shown++ ? ", " : "");
        add_field(into, &field);
    }
    if (shown == 0) choice_add(into, "no value");
}

/* Every column with a few values. */
static void add_columns(const fm_csv_rows *rows, bool header, text *into)
{
    uint64_t fields, more;
    bool ignored;
    fm_csv_field name;
    char *second = fm_csv_look_at_row(rows, rows->from, &fields, &ignored);
    if (second && fm_csv_look_at_row(rows, second, &more, &ignored) && more > fields) fields = more;
    for (uint64_t column = 1; column <= fields && into->used + 1 < into->size; column++) {
        char number[32];
        snprintf(number, sizeof number, "%" PRIu64, column);
        choice_add(into, column > 1 ? "; " : "");
        if (header && field_of(rows, rows->from, column, &name) && length_of(&name) > 0)
            add_field(into, &name);
        else
            choice_add(into, number);
        choice_add(into, " (");
        add_values(rows, header, column, LISTED, into);
        choice_add(into, ")");
    }
    if (into->used + 1 >= into->size) memcpy(into->to + into->size - 4, "...", 4);
}

void fm_csv_list_columns(const fm_csv_rows *rows, bool header, char *to, size_t size)
{
    text columns = {.to = to, .size = size};
    to[0] = '\0';
    add_columns(rows, header, &columns);
}

/* ---- columns that the options name ---- */

/* A name, or one of a list. */
typedef struct said {
    const char *from;
    size_t length;
} said;

static said whole_text(const char *name)
{
    return (said){.from = name, .length = strlen(name)};
}

static bool is_number(said column)
{
    size_t digits = 0;
    while (digits < column.length && column.from[digits] >= '0' && column.from[digits] <= '9') digits++;
    return digits > 0 && digits == column.length;
}

/* The next one of a list; false: there is no more. *rest: NULL behind the last one. */
static bool next_of_list(const char **rest, said *one)
{
    if (!*rest) return false;
    one->from = *rest;
    one->length = strcspn(*rest, ",");
    *rest = one->from[one->length] ? one->from + one->length + 1 : NULL;
    return true;
}

static bool has_name(const char *list)
{
    said one;
    while (list && next_of_list(&list, &one))
        if (!is_number(one)) return true;
    return false;
}

/* Compares without changing the field. */
static bool is_named(const fm_csv_field *field, said name)
{
    const char *at = field->from;
    for (size_t i = 0; i < name.length; i++, at++) {
        if (at >= field->end || *at != name.from[i]) return false;
        if (field->quoted && *at == '"') at++;
    }
    return at >= field->end;
}

/* The number of the column of this name; 0: there is none. */
static uint64_t column_of_name(const fm_csv_rows *rows, said name)
{
    fm_csv_field field;
    for (uint64_t column = 1; field_of(rows, rows->from, column, &field); column++)
        if (is_named(&field, name)) return column;
    return 0;
}

static fm_status refuse_name(const fm_csv_rows *rows, said name, fm_error *error)
{
    char names[320] = "";
    text list = {.to = names, .size = sizeof names};
    fm_csv_field field;
    for (uint64_t column = 1; field_of(rows, rows->from, column, &field); column++) {
        choice_add(&list, list.used ? ", " : "");
        add_field(&list, &field);
    }
    return fm_fail_at(error, FM_E_FORMAT, rows->file, FM_PLACE_LINE, rows->line,
                      "expected a column '%.*s', found: %s", (int)name.length, name.from,
                      names[0] ? names : "an empty file");
}

static fm_status choice_resolve(const fm_csv_rows *rows, said one, bool header, uint64_t *column,
                                fm_error *error)
{
    if (one.length > FM_CSV_QUOTED)
        return fm_fail(error, FM_E_ARGUMENT, NULL, "a column's name has at most %d bytes, not %zu",
                       FM_CSV_QUOTED, one.length);
    if (is_number(one)) {
        *column = strtoull(one.from, NULL, 10);
        if (*column > 0 && *column <= FM_LINE_MAX) return FM_OK;
        return fm_fail(error, FM_E_ARGUMENT, NULL, "column number %.*s; expected 1 to %u", (int)one.length,
                       one.from, FM_LINE_MAX);
    }
    if (!header)
        return fm_fail(error, FM_E_ARGUMENT, NULL,
                       "column '%.*s' is said by name, but the table is said to have no header",
                       (int)one.length, one.from);
    *column = column_of_name(rows, one);
    return *column ? FM_OK : refuse_name(rows, one, error);
}

/* One column, or several, of which the last one is the place within what the others say. */
static fm_status resolve_key(const fm_csv_rows *rows, const char *key, fm_csv_choice *choice, fm_error *error)
{
    said one = whole_text(key);
    fm_status status = FM_OK;
    /* A name may have commas in it. */
    if (!strchr(key, ',') || (choice->header && column_of_name(rows, one))) {
        status = choice_resolve(rows, one, choice->header, &choice->key_column, error);
        choice->part[0] = choice->key_column;
        choice->part_count = 1;
        return status;
    }
    for (const char *rest = key; status == FM_OK && next_of_list(&rest, &one);) {
        uint64_t column = 0;
        if (choice->part_count == FM_CSV_PARTS_MOST)
            return fm_fail(error, FM_E_ARGUMENT, NULL, "a key has at most %d columns", FM_CSV_PARTS_MOST);
        status = choice_resolve(rows, one, choice->header, &column, error);
        for (size_t i = 0; i < choice->part_count && status == FM_OK; i++)
            if (choice->part[i] == column)
                status = fm_fail(error, FM_E_ARGUMENT, NULL, "column '%.*s' is named twice in the key",
                                 (int)one.length, one.from);
        if (status == FM_OK) choice->key_column = choice->part[choice->part_count++] = column;
    }
    return status;
}

/* ---- a key that the options do not name ---- */

static fm_key_likeness choice_likeness(const fm_csv_rows *rows, uint64_t column)
{
    fm_csv_field name;
    return field_of(rows, rows->from, column, &name) ? fm_column_is_key(name.from, length_of(&name))
                                                     : FM_KEY_NO;
}

/* The one column that looks like a key, and none does more; 0: none, or several. */
static uint64_t find_key(const fm_csv_rows *rows, uint64_t fields, uint64_t size_column)
{
    uint64_t found = 0;
    fm_key_likeness best = FM_KEY_NO;
    for (uint64_t column = 1; column <= fields; column++) {
        const fm_key_likeness like = column == size_column ? FM_KEY_NO : choice_likeness(rows, column);
        if (like == FM_KEY_NO || like < best) continue;
        found = like > best ? column : 0;
        best = like;
    }
    return found;
}

static bool names_a_key(const fm_csv_rows *rows)
{
    fm_csv_field name;
    for (uint64_t column = 1; field_of(rows, rows->from, column, &name); column++)
        if (fm_column_is_key(name.from, length_of(&name)) != FM_KEY_NO) return true;
    return false;
}

/* No number in the first row, and one in the second. Or, where the options name no key, the name of one. */
static bool first_row_is_header(const fm_csv_rows *rows, bool key_said)
{
    uint64_t fields;
    bool first, second;
    char *next = fm_csv_look_at_row(rows, rows->from, &fields, &first);
    if (!next || first) return false;
    if (!key_said && names_a_key(rows)) return true;
    return fm_csv_look_at_row(rows, next, &fields, &second) && second;
}

static fm_status refuse_to_guess(const fm_csv_rows *rows, uint64_t fields, const fm_csv_choice *choice,
                                 fm_error *error)
{
    char columns[360] = "";
    text list = {.to = columns, .size = sizeof columns};
    size_t alike = 0;
    for (uint64_t column = 1; choice->header && column <= fields; column++)
        if (column != choice->size_column) alike += choice_likeness(rows, column) != FM_KEY_NO;
    add_columns(rows, choice->header, &list);
    return fm_fail_at(error, FM_E_ARGUMENT, rows->file, FM_PLACE_LINE, rows->line,
                      "which column is the key? %s; say csv_key=%s, of these: %s",
                      !choice->header ? "Nothing names them"
                      : alike > 1     ? "Several might be"
                                      : "No name tells",
                      choice->header ? "COLUMN" : "NUMBER", columns);
}

static fm_status choose_key(const fm_csv_rows *rows, fm_csv_choice *choice, fm_error *error)
{
    uint64_t fields, more;
    bool ignored;
    char *next = fm_csv_look_at_row(rows, rows->from, &fields, &ignored);
    choice->key_column = 1;
    if (!next) return FM_OK; /* nothing to choose from: an empty table */
    /* The header may be shorter than the rows: then it is none. */
    if (fm_csv_look_at_row(rows, next, &more, &ignored) && more > fields) fields = more;
    const bool size_is_one = choice->size_column > 0 && choice->size_column <= fields;
    if (fields - (size_is_one ? 1 : 0) == 1) {
        choice->key_column = choice->size_column == 1 ? 2 : 1;
        choice->only = true;
        return FM_OK;
    }
    choice->key_column = choice->header ? find_key(rows, fields, choice->size_column) : 0;
    choice->found = true;
    return choice->key_column ? FM_OK : refuse_to_guess(rows, fields, choice, error);
}

/* ---- columns beside a key that was found ---- */

static bool is_beside(const fm_csv_rows *rows, const fm_csv_choice *choice, uint64_t column, bool place)
{
    fm_csv_field name;
    return column != choice->key_column && column != choice->size_column &&
           field_of(rows, rows->from, column, &name) &&
           fm_column_is_container(name.from, length_of(&name), place);
}

/* By name, or by number where that has a comma in it. */
static void add_column(const fm_csv_rows *rows, uint64_t column, text *into)
{
    char number[32];
    fm_csv_field name;
    snprintf(number, sizeof number, "%" PRIu64, column);
    if (!field_of(rows, rows->from, column, &name) || name.quoted || memchr(name.from, ',', length_of(&name)))
        choice_add(into, number);
    else
        add_field(into, &name);
}

fm_status fm_csv_refuse_alone(const fm_csv_choice *choice, const fm_csv_beside *beside, const char *file,
                              uint64_t line, fm_error *error)
{
    return fm_fail_at(error, FM_E_ARGUMENT, file, FM_PLACE_LINE, line,
                      "which columns are the key? '%s' alone may be of several: '%s' beside it changes; say "
                      "csv_key=%s for all of them together, or csv_key=%s for that one alone",
                      choice->key_name, beside->name, choice->together, choice->key_name);
}

/* Columns that say where the key is: they must stay the same. Those at hand are looked at here, all others as
 * they are read. */
static fm_status look_beside(const fm_csv_rows *rows, uint64_t fields, fm_csv_choice *choice, fm_error *error)
{
    fm_csv_field name, value;
    uint64_t ignored;
    bool number;
    char *first = fm_csv_look_at_row(rows, rows->from, &ignored, &number);
    text together = {.to = choice->together, .size = sizeof choice->together};
    if (!first || !field_of(rows, rows->from, choice->key_column, &name)) return FM_OK;
    const bool place = fm_column_is_place(name.from, length_of(&name));
    for (uint64_t column = 1; column <= fields && choice->beside_count < FM_CSV_BESIDE_MOST; column++) {
        if (!is_beside(rows, choice, column, place) || !field_of(rows, first, column, &value)) continue;
        fm_csv_beside *beside = &choice->beside[choice->beside_count++];
        *beside = (fm_csv_beside){.column = column, .hash = fm_csv_hash(&value)};
        if (field_of(rows, rows->from, column, &name))
            fm_text_quote(name.from, length_of(&name), beside->name, sizeof beside->name);
        add_column(rows, column, &together);
        choice_add(&together, ",");
    }
    add_column(rows, choice->key_column, &together);
    for (size_t i = 0; i < choice->beside_count; i++) {
        const fm_csv_beside *beside = &choice->beside[i];
        for (char *row = first; row; row = fm_csv_look_at_row(rows, row, &ignored, &number)) {
            if (!field_of(rows, row, beside->column, &value) || fm_csv_hash(&value) == beside->hash) continue;
            return fm_csv_refuse_alone(choice, beside, rows->file, rows->line, error);
        }
    }
    return FM_OK;
}

/* ---- identities ---- */

/* Beyond every address of memory and every disk, and below those that begin with ones. */
static bool is_no_place(uint64_t value)
{
    const uint64_t most = UINT64_C(1) << 57;
    return value >= most && value < -(most >> 1);
}

/* A value of the key that is no address, where no name says that these are some. */
static bool find_no_place(const fm_csv_rows *rows, const fm_csv_choice *choice, fm_csv_field *found)
{
    fm_csv_field name;
    uint64_t ignored, value = 0;
    bool number;
    char *row = rows->from;
    if (choice->header) {
        if (field_of(rows, row, choice->key_column, &name) && fm_column_is_place(name.from, length_of(&name)))
            return false;
        row = fm_csv_look_at_row(rows, row, &ignored, &number);
    }
    for (; row; row = fm_csv_look_at_row(rows, row, &ignored, &number))
        if (field_of(rows, row, choice->key_column, found) && fm_csv_number(found, &value) &&
            is_no_place(value))
            return true;
    return false;
}

/* An identity and a size are no range of bytes, unless the options say what the key counts. */
static fm_status check_identity(const fm_csv_rows *rows, const fm_reader_options *options,
                                fm_csv_choice *choice, fm_error *error)
{
    char quote[FM_CSV_QUOTED], why[2 * FM_CSV_QUOTED + 64];
    fm_csv_field field;
    if (options->csv_key_unit) return FM_OK;
    if (choice->header && field_of(rows, rows->from, choice->key_column, &field) &&
        fm_column_is_identity(field.from, length_of(&field))) {
        fm_text_quote(field.from, length_of(&field), quote, sizeof quote);
        snprintf(why, sizeof why, "column '%s' is an identity by its name", quote);
    } else if (find_no_place(rows, choice, &field)) {
        fm_text_quote(field.from, length_of(&field), quote, sizeof quote);
        snprintf(why, sizeof why, "%s in column %" PRIu64 " is no address", quote, choice->key_column);
    } else {
        return FM_OK;
    }
    choice->identity = true;
    if (!choice->size_column) return FM_OK;
    return fm_fail_at(
        error, FM_E_ARGUMENT, rows->file, FM_PLACE_LINE, rows->line,
        "a key with a size is a range of addresses, and %s: leave out csv_size, so that each "
        "request is one reference to its key; or say csv_key_unit=1 if it is an address in bytes",
        why);
}

/* ---- units ---- */

/* An address in blocks and a size in bytes would be another request. */
static fm_status check_units(const fm_csv_rows *rows, const fm_reader_options *options, fm_csv_choice *choice,
                             fm_error *error)
{
    fm_csv_field key, size;
    if (!choice->header || !field_of(rows, rows->from, choice->key_column, &key)) return FM_OK;
    choice->unknown_unit = !options->csv_key_unit && fm_column_key_counts_units(key.from, length_of(&key));
    if (!choice->size_column || !field_of(rows, rows->from, choice->size_column, &size)) return FM_OK;
    const bool unknown_size =
        !options->csv_size_unit && fm_column_size_counts_units(size.from, length_of(&size));
    if (!choice->unknown_unit && !unknown_size) return FM_OK;
    char quote[FM_CSV_QUOTED];
    const fm_csv_field *which = choice->unknown_unit ? &key : &size;
    return fm_fail_at(
        error, FM_E_ARGUMENT, rows->file, FM_PLACE_LINE, rows->line,
        "by its name, column '%s' counts sectors, blocks or the like, and a request is a range of "
        "bytes: say how many bytes one is, with %s%s (512 for sectors of 512 bytes, 1 where "
        "they are bytes)",
        fm_text_quote(which->from, length_of(which), quote, sizeof quote),
        choice->unknown_unit ? "csv_key_unit" : "csv_size_unit",
        choice->unknown_unit && unknown_size ? " and csv_size_unit" : "");
}

/* A row's key, as people read it: 5, or (7, main, 5). */
static void add_key(const fm_csv_rows *rows, const fm_csv_choice *choice, char *row, text *into)
{
    for (size_t i = 0; i < choice->part_count; i++) {
        fm_csv_field field;
        choice_add(into, i > 0 ? ", " : choice->part_count > 1 ? "(" : "");
        if (field_of(rows, row, choice->part[i], &field)) add_field(into, &field);
    }
    choice_add(into, choice->part_count > 1 ? ")" : "");
}

/* Everything that is said to people later, when the rows are gone. */
static void describe_columns(const fm_csv_rows *rows, fm_csv_choice *choice)
{
    uint64_t fields = 0;
    bool ignored;
    text name = {.to = choice->key_name, .size = sizeof choice->key_name},
         values = {.to = choice->key_values, .size = sizeof choice->key_values};
    fm_csv_field first;
    if (!field_of(rows, rows->from, choice->key_column, &first)) return;
    for (size_t i = 0; choice->header && i < choice->part_count; i++) {
        fm_csv_field field;
        choice_add(&name, i > 0 ? ", " : "");
        if (field_of(rows, rows->from, choice->part[i], &field)) add_field(&name, &field);
    }
    char *row = fm_csv_look_at_row(rows, rows->from, &fields, &ignored);
    if (fields > 1) fm_csv_list_columns(rows, choice->header, choice->columns, sizeof choice->columns);
    if (choice->part_count == 1) {
        add_values(rows, choice->header, choice->key_column, SHOWN, &values);
        return;
    }
    if (!choice->header) row = rows->from;
    for (size_t shown = 0; row && row < rows->end && shown < SHOWN; shown++) {
        choice_add(&values, shown > 0 ? ", " : "");
        add_key(rows, choice, row, &values);
        row = fm_csv_look_at_row(rows, row, &fields, &ignored);
    }
}

fm_status fm_csv_choose(const fm_csv_rows *rows, const fm_reader_options *options, fm_csv_choice *choice,
                        fm_error *error)
{
    const char *key = options->csv_key, *size = options->csv_size;
    const bool named = has_name(key) || (size && !is_number(whole_text(size)));
    uint64_t fields;
    bool ignored;
    fm_status status = FM_OK;
    *choice = (fm_csv_choice){.header = options->csv_header == FM_CSV_HEADER_YES};
    if (options->csv_header != FM_CSV_HEADER_YES && options->csv_header != FM_CSV_HEADER_NO)
        choice->header = named || first_row_is_header(rows, key);
    if (size) status = choice_resolve(rows, whole_text(size), choice->header, &choice->size_column, error);
    if (status == FM_OK)
        status = key ? resolve_key(rows, key, choice, error) : choose_key(rows, choice, error);
    if (status != FM_OK) return status;
    if (!key) choice->part[choice->part_count++] = choice->key_column;
    describe_columns(rows, choice);
    fm_csv_look_at_row(rows, rows->from, &fields, &ignored);
    if (choice->found) status = look_beside(rows, fields, choice, error);
    if (status == FM_OK) status = check_identity(rows, options, choice, error);
    return status == FM_OK ? check_units(rows, options, choice, error) : status;
}
