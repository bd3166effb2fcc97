/* SPDX-License-Identifier: Apache-2.0 */
/* fortran_layout.c - how many bytes a type has, and where the members of a derived type are: as gfortran on
 * x86-64.
 */
#include "static/fortran/fortran_walker.h"

#include <inttypes.h>
#include <string.h>

enum { MOST_MEMBER = 1 << 24 }; /* bytes of an element */

static uint64_t default_bytes(const ft_context *context, const ft_type *type)
{
    uint64_t real = context->real_8 ? 8 : 4, twice = context->real_8 && !context->double_8 ? 16 : 8;
    switch (type->base) {
    case FT_INTEGER_TYPE:
    case FT_LOGICAL_TYPE:
        return context->integer_8 ? 8 : 4;
    case FT_REAL_TYPE:
        return type->twice ? twice : real;
    case FT_COMPLEX_TYPE:
        return 2 * (type->twice ? twice : real);
    default:
        return 1;
    }
}

static bool scalar_bytes(ft_walker *walker, const ft_type *type, const ft_place *place, uint64_t *bytes)
{
    int64_t kind, length;
    *bytes = default_bytes(walker->context, type);
    if (type->kind && type->base != FT_CHARACTER_TYPE) {
        if (!fm_ft_constant(walker, type->kind, "a kind", &kind)) return false;
        bool fits = kind == 1 || kind == 2 || kind == 4 || kind == 8 || kind == 10 || kind == 16 ||
                    (type->star && kind == 32);
        if (!fits) return fm_ft_refuse(walker->context, place, "there is no kind %" PRId64, kind);
        *bytes = (uint64_t)(kind == 10 ? 16 : kind);
        if (type->base == FT_COMPLEX_TYPE && !type->star) *bytes *= 2;
    }
    if (type->base != FT_CHARACTER_TYPE) return true;
    if (type->any_length) {
        *bytes = 1; /* of a dummy: nothing of it is touched as an array, or it is refused there */
        return true;
    }
    if (!type->length) return true;
    if (!fm_ft_constant(walker, type->length, "a length of characters", &length)) return false;
    if (length < 1 || length > MOST_MEMBER)
        return fm_ft_refuse(walker->context, place, "characters of length %" PRId64, length);
    *bytes = (uint64_t)length;
    return true;
}

/* Largest alignment, end, the one size of all parts (0: several), what divides all sizes and alignments. */
typedef struct measure {
    uint64_t alignment, end, unit, divisor;
    bool arrays;
} measure;

bool fm_ft_member_shape(ft_walker *walker, const ft_record *record, const ft_symbol *member, int64_t *lows,
                        int64_t *extents)
{
    ft_activation scope = {.unit = record->unit, .caller = walker->activation}, *saved = walker->activation;
    walker->activation = &scope;
    bool done = true;
    for (unsigned i = 0; i < member->rank && done; i++) {
        const ft_dimension *dimension = &member->dimensions[i];
        int64_t high = 0;
        lows[i] = 1;
        done =
            dimension->kind == FT_EXPLICIT &&
            (!dimension->low || fm_ft_constant(walker, dimension->low, "a bound of a component", &lows[i])) &&
            fm_ft_constant(walker, dimension->high, "a bound of a component", &high) &&
            !__builtin_sub_overflow(high, lows[i], &extents[i]) && extents[i] < MOST_MEMBER;
        if (done) extents[i] = extents[i] < -1 ? 0 : extents[i] + 1;
    }
    walker->activation = saved;
    if (!done)
        fm_ft_refuse(walker->context, &member->place, "the bounds of component '%.100s' are not understood",
                     member->name);
    return done;
}

static bool add_member(ft_walker *walker, const ft_record *record, const ft_symbol *member, measure *sum,
                       uint64_t *offset, ft_layout *layout)
{
    ft_type type = fm_ft_type_of(member);
    if (!fm_ft_layout(walker, record->unit, &type, &member->place, layout)) return false;
    uint64_t alignment = layout->bytes, bytes = layout->bytes, unit = layout->bytes;
    if (layout->base == FT_COMPLEX_TYPE) alignment /= 2;
    if (layout->base == FT_CHARACTER_TYPE) alignment = 1;
    uint64_t divisor = (uint64_t)fm_greatest_divisor((int64_t)alignment, (int64_t)bytes);
    if (layout->record) {
        alignment = layout->alignment;
        unit = layout->part;
        divisor = layout->divisor;
        sum->arrays |= layout->unit != 0;
    }
    if (alignment > 16) alignment = 16;
    sum->divisor = (uint64_t)fm_greatest_divisor((int64_t)divisor, (int64_t)sum->divisor);
    if (member->rank) {
        int64_t lows[FT_MOST_RANK], extents[FT_MOST_RANK];
        sum->arrays = true;
        if (!fm_ft_member_shape(walker, record, member, lows, extents)) return false;
        for (unsigned i = 0; i < member->rank; i++)
            if (__builtin_mul_overflow(bytes, (uint64_t)extents[i], &bytes) || bytes > MOST_MEMBER)
                return fm_ft_refuse(walker->context, &member->place, "component '%.100s' is too large",
                                    member->name);
    }
    *offset = (sum->end + alignment - 1) / alignment * alignment;
    sum->end = *offset + bytes;
    if (sum->end > MOST_MEMBER)
        return fm_ft_refuse(walker->context, &member->place, "type '%.100s' is too large", record->name);
    if (alignment > sum->alignment) sum->alignment = alignment;
    sum->unit = sum->unit == UINT64_MAX || sum->unit == unit ? unit : 0;
    return true;
}

static bool record_layout(ft_walker *walker, const ft_record *record, const ft_place *place,
                          ft_layout *layout)
{
    if (record->why)
        return fm_ft_refuse(walker->context, place, "type '%.100s' (line %u) is not understood: %s",
                            record->name, record->place.line, record->why);
    if (record->measuring)
        return fm_ft_fail(walker->context, FM_E_FORMAT, place, "type '%.100s' holds itself", record->name);
    ((ft_record *)record)->measuring = true;
    measure sum = {.alignment = 1, .unit = UINT64_MAX};
    bool done = true, separate = false;
    for (const ft_symbol *member = record->members; member && done; member = member->next) {
        uint64_t offset;
        ft_layout inner;
        separate |= member->allocatable || member->pointer;
        if (!separate) done = add_member(walker, record, member, &sum, &offset, &inner);
    }
    ((ft_record *)record)->measuring = false;
    layout->record = record;
    /* With parts that are allocated by themselves it can only be a scalar (fortran_references.c). */
    layout->bytes = separate ? 0 : (sum.end + sum.alignment - 1) / sum.alignment * sum.alignment;
    if (!layout->bytes && !separate) layout->bytes = 1;
    layout->alignment = sum.alignment;
    layout->part = sum.unit == UINT64_MAX ? 0 : sum.unit;
    layout->divisor = sum.divisor ? sum.divisor : 1;
    /* Parts of several sizes: in pieces that each of them begins with. */
    layout->unit = sum.arrays && !separate ? (layout->part ? layout->part : layout->divisor) : 0;
    return done;
}

bool fm_ft_layout(ft_walker *walker, ft_unit *unit, const ft_type *type, const ft_place *place,
                  ft_layout *layout)
{
    *layout = (ft_layout){.base = type->base};
    ft_activation scope = {.unit = unit, .caller = walker->activation}, *saved = walker->activation;
    if (saved->unit != unit) walker->activation = &scope;
    bool done;
    if (type->base == FT_NO_TYPE) {
        done = fm_ft_refuse(walker->context, place, "a polymorphic variable is not followed");
    } else if (type->base == FT_DERIVED_TYPE) {
        const ft_record *record = fm_ft_record(walker, unit, type->derived);
        done = record
                   ? record_layout(walker, record, place, layout)
                   : fm_ft_refuse(walker->context, place, "type '%.100s' is not in this file", type->derived);
    } else {
        done = scalar_bytes(walker, type, place, &layout->bytes);
    }
    walker->activation = saved;
    return done;
}

const ft_symbol *fm_ft_member(ft_walker *walker, const ft_record *record, const char *name,
                              const ft_place *place, uint64_t *offset, ft_layout *layout)
{
    measure sum = {.alignment = 1, .unit = UINT64_MAX};
    bool separate = false;
    *offset = 0;
    for (const ft_symbol *member = record->members; member; member = member->next) {
        bool wanted = strcmp(member->name, name) == 0;
        separate |= member->allocatable || member->pointer;
        /* Behind one that is allocated by itself, offsets are not known; nor are they needed. */
        if (!separate && !add_member(walker, record, member, &sum, offset, layout)) return NULL;
        if (wanted) return member;
    }
    fm_ft_fail(walker->context, FM_E_FORMAT, place, "type '%.100s' has no component '%.100s'", record->name,
               name);
    return NULL;
}
