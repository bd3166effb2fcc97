/* SPDX-License-Identifier: Apache-2.0 */
/* column_names.c - see column_names.h. docs/TRACES.md has the same lists for people. */
#include "trace/import/column_names.h"

#include <string.h>

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
