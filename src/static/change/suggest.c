/* SPDX-License-Identifier: Apache-2.0 */
/* suggest.c - changes of a region's loops that are worth a try. Whether they are legal and what they bring is
 * found out by whoever asks. */
#include "base/error.h"
#include "static/change/transform.h"

#include <stdio.h>
#include <stdlib.h>

typedef struct suggesting {
    const fm_region *region;
    FILE *out;
} suggesting;

static void put_loop(const suggesting *self, const fm_region_node *loop)
{
    char label[FM_LOOP_NAME + 32];
    fm_loop_label(self->region, loop, label, sizeof label);
    fputs(label, self->out);
}

/* The loop that is the only thing in this one. */
static const fm_region_node *only_loop(const fm_region_node *loop)
{
    const fm_region_node *inner = loop->body;
    return inner && !inner->next && inner->kind == FM_NODE_LOOP ? inner : NULL;
}

static void put_tiles(const suggesting *self, const fm_region_node *const *loops, unsigned count)
{
    for (int size = 16; size <= 64; size *= 2) {
        for (unsigned i = 0; i < count; i++) {
            fputs(i == 0 ? "tile:" : ",", self->out);
            put_loop(self, loops[i]);
        }
        for (unsigned i = 0; i < count; i++) fprintf(self->out, "%c%d", i == 0 ? '=' : ',', size);
        fputc('\0', self->out);
    }
}

static void put_nest(const suggesting *self, const fm_region_node *loop)
{
    const fm_region_node *loops[3] = {loop, only_loop(loop), NULL};
    if (!loops[1]) return;
    fputs("interchange:", self->out);
    put_loop(self, loop);
    fputc(',', self->out);
    put_loop(self, loops[1]);
    fputc('\0', self->out);
    put_tiles(self, loops, 2);
    loops[2] = only_loop(loops[1]);
    if (loops[2]) put_tiles(self, loops, 3);
}

static void put_one(const suggesting *self, const char *word, const fm_region_node *loop)
{
    fputs(word, self->out);
    put_loop(self, loop);
    fputc('\0', self->out);
}

static void look(const suggesting *self, const fm_region_node *node)
{
    for (; node; node = node->next) {
        if (node->kind == FM_NODE_LOOP) {
            put_nest(self, node);
            if (node->body && node->body->next) put_one(self, "distribute:", node);
            if (node->next && node->next->kind == FM_NODE_LOOP) put_one(self, "fuse:", node);
        }
        look(self, node->body);
        look(self, node->otherwise);
    }
}

fm_status fm_region_suggest(const fm_region *region, char **changes, fm_error *error)
{
    FM_REQUIRE(region, error);
    size_t size;
    const suggesting self = {.region = region, .out = open_memstream(changes, &size)};
    if (!self.out) return fm_fail(error, FM_E_NOMEM, NULL, "out of memory: no room for suggestions");
    look(&self, region->body);
    fputc('\0', self.out);
    const bool failed = ferror(self.out);
    if (fclose(self.out) == 0 && !failed) return FM_OK;
    free(*changes);
    *changes = NULL;
    return fm_fail(error, FM_E_NOMEM, NULL, "out of memory: no room for suggestions");
}
