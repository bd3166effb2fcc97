/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fortran_names.c - which symbol a name means (the unit's own, its host's, a module's), and which object the
 * symbol is while its procedure is walked. Whole numbers that nobody has assigned yet are parameters of the
 * region.
 */
#include "static/fortran/fortran_walker.h"

#include <inttypes.h>
#include <string.h>

enum { MOST_MODULES = 20 }; /* that use each other */

ft_unit *fm_ft_module(const ft_walker *walker, const char *name)
{
    for (ft_unit *unit = walker->units; unit; unit = unit->next)
        if (unit->kind == FT_MODULE && strcmp(unit->name, name) == 0) return unit;
    return NULL;
}

const char *fm_ft_used_name(const ft_use *use, const char *name)
{
    for (const ft_expression *given = use->names; given; given = given->next) {
        if (given->kind == FT_X_KEYWORD) {
            if (strcmp(given->text, name) == 0) return given->left->text;
            if (!use->only && strcmp(given->left->text, name) == 0) return NULL;
        } else if (strcmp(given->text, name) == 0) {
            return name;
        }
    }
    return use->only ? NULL : name;
}

static ft_symbol *in_modules(ft_walker *walker, const ft_unit *unit, const char *name, unsigned depth)
{
    for (const ft_use *use = unit->uses; use && depth < MOST_MODULES; use = use->next) {
        ft_unit *module = fm_ft_module(walker, use->module);
        const char *inside = module ? fm_ft_used_name(use, name) : NULL;
        if (!inside) continue;
        ft_symbol *symbol = fm_ft_own_symbol(walker->context, module, inside, false);
        if (!symbol) symbol = in_modules(walker, module, inside, depth + 1);
        if (symbol) return symbol;
    }
    return NULL;
}

static bool none_implicit(const ft_unit *unit)
{
    for (; unit; unit = unit->host)
        if (unit->implicit_none) return true;
    return false;
}

ft_symbol *fm_ft_lookup(ft_walker *walker, ft_unit *unit, const char *name, bool implicit)
{
    for (ft_unit *at = unit; at; at = at->host) {
        ft_symbol *symbol = fm_ft_own_symbol(walker->context, at, name, false);
        if (!symbol) symbol = in_modules(walker, at, name, 0);
        if (symbol) return symbol;
    }
    if (!implicit || none_implicit(unit)) return NULL;
    return fm_ft_own_symbol(walker->context, unit, name, true);
}

static ft_unit *procedure_in(ft_unit *list, const char *name)
{
    for (ft_unit *unit = list; unit; unit = unit->next)
        if ((unit->kind == FT_SUBROUTINE || unit->kind == FT_FUNCTION) && strcmp(unit->name, name) == 0)
            return unit;
    return NULL;
}

ft_unit *fm_ft_procedure(ft_walker *walker, ft_unit *from, const char *name)
{
    for (const ft_unit *at = from; at; at = at->host) {
        ft_unit *found = procedure_in(at->children, name);
        for (const ft_use *use = at->uses; use && !found; use = use->next) {
            const ft_unit *module = fm_ft_module(walker, use->module);
            const char *inside = module ? fm_ft_used_name(use, name) : NULL;
            if (inside) found = procedure_in(module->children, inside);
        }
        if (found) return found;
    }
    return procedure_in(walker->units, name);
}

static const ft_record *record_of_name(ft_walker *walker, ft_unit *unit, const char *name)
{
    for (const ft_unit *at = unit; at; at = at->host) {
        for (const ft_record *record = at->records; record; record = record->next)
            if (strcmp(record->name, name) == 0) return record;
        for (const ft_use *use = at->uses; use; use = use->next) {
            const ft_unit *module = fm_ft_module(walker, use->module);
            const char *inside = module ? fm_ft_used_name(use, name) : NULL;
            for (const ft_record *record = inside ? module->records : NULL; record; record = record->next)
                if (strcmp(record->name, inside) == 0) return record;
        }
    }
    return NULL;
}

ft_type fm_ft_type_of(const ft_symbol *symbol)
{
    if (symbol->typed) return symbol->type;
    unsigned letter = (unsigned)(symbol->name[0] - 'a');
    if (letter < 26)
        for (const ft_unit *unit = symbol->unit; unit; unit = unit->host)
            if (unit->implicit_set[letter]) return unit->implicit[letter];
    bool whole = symbol->name[0] >= 'i' && symbol->name[0] <= 'n';
    return (ft_type){.base = whole ? FT_INTEGER_TYPE : FT_REAL_TYPE};
}

/* ---- objects ---- */

static ft_object **bucket_of(ft_activation *activation, const ft_symbol *symbol)
{
    return &activation->buckets[((uintptr_t)symbol >> 4) % FT_SYMBOL_BUCKETS];
}

/* The activation that holds a unit's names: the one at work, one that called it, or a lasting one. */
static ft_activation *activation_of(ft_walker *walker, ft_unit *unit)
{
    for (ft_activation *at = walker->activation; at; at = at->caller)
        if (at->unit == unit) return at;
    for (ft_activation *at = walker->lasting; at; at = at->caller)
        if (at->unit == unit) return at;
    ft_activation *made = fm_ft_allocate(walker->context, 1, sizeof *made);
    if (!made) return NULL;
    made->unit = unit;
    made->caller = walker->lasting;
    walker->lasting = made;
    return made;
}

/* Variables of common blocks are one object, whichever unit names them. */
static ft_object *common_object(ft_walker *walker, const ft_symbol *symbol, const ft_place *place,
                                bool *wrong)
{
    ft_activation *activation = activation_of(walker, NULL);
    *wrong = !activation;
    if (!activation) return NULL;
    for (ft_object *object = activation->buckets[0]; object; object = object->next) {
        const ft_symbol *other = object->symbol;
        if (!other->common) continue;
        if (strcmp(other->common, symbol->common) != 0 || other->common_index != symbol->common_index)
            continue;
        if (strcmp(other->name, symbol->name) != 0 || other->rank != symbol->rank) {
            fm_ft_refuse(
                walker->context, place,
                "'%.100s' of the common block /%.60s/ is '%.100s' in another procedure: storage under two "
                "names is not followed",
                symbol->name, symbol->common, other->name);
            *wrong = true;
        }
        return object;
    }
    return NULL;
}

static ft_object *existing_object(ft_walker *walker, const ft_symbol *symbol)
{
    bool wrong;
    if (symbol->common) return common_object(walker, symbol, NULL, &wrong);
    ft_activation *activation = activation_of(walker, symbol->constant ? NULL : symbol->unit);
    ft_object *object = activation ? *bucket_of(activation, symbol) : NULL;
    while (object && (object->symbol != symbol || object->member)) object = object->next;
    /* Bounds of arrays are worked out with what an argument was when its procedure began. */
    return object && object->alias && !walker->at_entry ? object->alias : object;
}

ft_object *fm_ft_new_object(ft_walker *walker, ft_activation *activation, const ft_symbol *symbol)
{
    ft_object *made = fm_ft_allocate(walker->context, 1, sizeof *made);
    if (!made) return NULL;
    ft_object **bucket = symbol->common ? &activation->buckets[0] : bucket_of(activation, symbol);
    made->symbol = symbol;
    made->next = *bucket;
    *bucket = made;
    return made;
}

/* A name that no parameter, array or loop has yet. */
static const char *new_name(ft_walker *walker, const char *name)
{
    const char *base = fm_ft_safe_name(walker, name);
    return base ? fm_front_free_name(&walker->front, base, true) : NULL;
}

static const fm_form *new_parameter(ft_walker *walker, const char *name)
{
    return fm_form_atom(&walker->front,
                        fm_atom_new(&walker->front, FM_ATOM_PARAMETER, new_name(walker, name)));
}

fm_front_array *fm_ft_new_memory(ft_walker *walker, const char *name, const fm_front_array *like,
                                 const ft_place *place)
{
    fm_front_array made = *like;
    made.name = new_name(walker, name);
    made.columns = true;
    made.place = fm_ft_front_place(walker, place);
    return fm_front_array_add(&walker->front, &made);
}

/* Low and extent of one dimension, as they were at entry. */
static bool dimension_bounds(ft_walker *walker, ft_object *object, unsigned i, const ft_dimension *dimension,
                             const ft_place *place)
{
    fm_front *f = &walker->front;
    const char *name = object->member ? object->member : object->symbol->name;
    object->lows[i] = dimension->low ? fm_ft_integer(walker, dimension->low) : fm_form_number(f, 1);
    if (!object->lows[i]) return false;
    if (dimension->kind == FT_EXPLICIT) {
        const fm_form *high = fm_ft_integer(walker, dimension->high);
        object->extents[i] = fm_form_add_number(f, fm_form_plus(f, high, object->lows[i], -1), 1);
        return object->extents[i] != NULL;
    }
    if (dimension->kind == FT_ASSUMED_SIZE) {
        if (i + 1 < object->rank)
            return fm_ft_fail(walker->context, FM_E_FORMAT, place,
                              "'%.100s': only the last dimension may be '*'", name);
        return true;
    }
    object->extents[i] = new_parameter(walker, fm_ft_print(walker->context, "%s.size%u", name, i + 1));
    return object->extents[i] != NULL;
}

/* An array of a procedure is where it was at the last call, if it has the same shape. */
static fm_front_array *same_memory(ft_walker *walker, const fm_front_array *wanted)
{
    for (fm_front_array *memory = walker->front.arrays; memory; memory = memory->next) {
        if (memory->origin != wanted->origin || memory->rank != wanted->rank) continue;
        bool same = true;
        for (unsigned i = 0; i < memory->rank && same; i++) {
            int64_t difference;
            same = memory->lows[i] == wanted->lows[i] && memory->extents[i] && wanted->extents[i] &&
                   fm_form_difference(&walker->front, memory->extents[i], wanted->extents[i], &difference) &&
                   !difference;
        }
        if (same) return memory;
    }
    return NULL;
}

/* The memory of an array with that shape. */
static bool make_memory(ft_walker *walker, ft_object *object, const ft_place *place)
{
    fm_front *f = &walker->front;
    const char *name = object->member ? object->member : object->symbol->name;
    unsigned first = object->layout.unit ? 1 : 0;
    fm_front_array wanted = {.bytes = object->layout.unit ? object->layout.unit : object->layout.bytes,
                             .rank = object->rank + first,
                             .origin = object->symbol};
    if (first) {
        wanted.extents[0] = fm_form_number(f, (int64_t)(object->layout.bytes / object->layout.unit));
        object->base[0] = fm_form_number(f, 0);
    }
    for (unsigned i = 0; i < object->rank; i++) {
        unsigned d = i + first;
        int64_t low;
        if (fm_form_varies(object->extents[i]) || fm_form_varies(object->lows[i]))
            return fm_ft_refuse(walker->context, place, "the size of '%.100s' changes in a loop", name);
        wanted.extents[d] = object->extents[i];
        bool number = fm_form_is_number(object->lows[i], &low) && low >= INT32_MIN && low <= INT32_MAX;
        wanted.lows[d] = number ? low : 0;
        object->base[d] = fm_form_number(f, number ? low : 0);
        object->dimension[i] = d;
        object->stride[i] = 1;
    }
    object->memory = object->member ? NULL : same_memory(walker, &wanted);
    if (object->memory) return true;
    object->memory = fm_ft_new_memory(walker, name, &wanted, place);
    return object->memory != NULL;
}

bool fm_ft_set_shape(ft_walker *walker, ft_object *object, unsigned rank, const ft_dimension *dimensions,
                     const ft_place *place)
{
    object->is_array = true;
    object->unknown_shape = false;
    object->rank = rank;
    if (rank + (object->layout.unit ? 1 : 0) > FM_MOST_DIMENSIONS)
        return fm_ft_refuse(walker->context, place, "an array of more than %d dimensions",
                            FM_MOST_DIMENSIONS);
    bool assumed = false;
    for (unsigned i = 0; i < rank; i++) {
        if (!dimension_bounds(walker, object, i, &dimensions[i], place)) return false;
        assumed |= dimensions[i].kind == FT_ASSUMED_SHAPE;
    }
    if (!make_memory(walker, object, place)) return false;
    if (dimensions[rank - 1].kind == FT_ASSUMED_SHAPE)
        object->memory->last_extent = fm_form_only_atom(object->extents[rank - 1]);
    if (!assumed) return true;
    const char *name = object->member ? object->member : object->symbol->name;
    return fm_ft_note(walker,
                      fm_ft_print(walker->context,
                                  "the array '%s' of unknown shape is taken as contiguous%s; its extents are "
                                  "the parameters %s.size1 and so on where they are needed",
                                  name, object->symbol->dummy ? "" : ", from 1 on", object->memory->name));
}

/* A constant that is a plain number keeps its name: a parameter with a value. */
static const fm_form *constant_value(ft_walker *walker, ft_object *object)
{
    const ft_symbol *symbol = object->symbol;
    const ft_expression *value = symbol->value;
    bool minus = value->kind == FT_X_UNARY && value->operator== '-';
    const ft_expression *plain = minus ? value->left : value;
    const fm_form *found = fm_ft_integer(walker, value);
    int64_t number;
    if (plain->kind != FT_X_INTEGER || !fm_form_is_number(found, &number)) return found;
    fm_atom *named = fm_atom_new(&walker->front, FM_ATOM_PARAMETER, new_name(walker, symbol->name));
    if (!named) return NULL;
    named->has_number = true;
    named->constant = number;
    return fm_form_atom(&walker->front, named);
}

/* What a scalar is when the region begins. */
static bool first_value(ft_walker *walker, ft_object *object)
{
    const ft_symbol *symbol = object->symbol;
    ft_base base = object->layout.base;
    if (symbol->constant && symbol->value && base == FT_INTEGER_TYPE) {
        object->busy = true;
        object->value = constant_value(walker, object);
        object->busy = false;
    } else if (base == FT_INTEGER_TYPE || base == FT_LOGICAL_TYPE) {
        if (base == FT_LOGICAL_TYPE && symbol->constant && symbol->value &&
            symbol->value->kind == FT_X_LOGICAL)
            object->value = fm_form_number(&walker->front, symbol->value->operator== FT_TRUE);
        else
            object->untouched = true;
        if (object->untouched) return true;
    } else {
        return true;
    }
    object->initial = object->value;
    return object->value != NULL;
}

static const fm_form *initial_value(ft_walker *walker, ft_object *object)
{
    bool known = object->layout.base == FT_INTEGER_TYPE || object->layout.base == FT_LOGICAL_TYPE;
    if (!object->initial && known && !object->is_array && !object->memory && !object->alias)
        object->initial = new_parameter(walker, object->member ? object->member : object->symbol->name);
    return object->initial;
}

const fm_form *fm_ft_known(ft_walker *walker, ft_object *object)
{
    if (walker->at_entry) return initial_value(walker, object);
    if (object->untouched) {
        object->untouched = false;
        object->value = initial_value(walker, object);
    }
    return object->value;
}

void fm_ft_set_known(ft_object *object, const fm_form *value, const char *why)
{
    object->untouched = false;
    object->value = value;
    object->why = why;
}

static bool refused_symbol(ft_walker *walker, const ft_symbol *symbol, const ft_place *place)
{
    ft_context *context = walker->context;
    if (symbol->function)
        return fm_ft_refuse(context, place,
                            "'%.100s' is a statement function (line %u), which is not followed", symbol->name,
                            symbol->place.line);
    if (symbol->rank && symbol->pointer)
        return fm_ft_refuse(context, place, "'%.100s' is a pointer: where its elements are is not known",
                            symbol->name);
    if (symbol->equivalenced)
        return fm_ft_refuse(context, place,
                            "'%.100s' is in an equivalence: storage under two names is not followed",
                            symbol->name);
    return true;
}

ft_object *fm_ft_object(ft_walker *walker, const ft_symbol *symbol, const ft_place *place)
{
    bool wrong = false;
    ft_object *object =
        symbol->common ? common_object(walker, symbol, place, &wrong) : existing_object(walker, symbol);
    if (wrong) return NULL;
    if (object) {
        if (object->busy)
            fm_ft_fail(walker->context, FM_E_FORMAT, place, "'%.100s' depends on itself", symbol->name);
        return object->busy ? NULL : object;
    }
    if (!refused_symbol(walker, symbol, place)) return NULL;
    /* Constants and commons are the same for all units. */
    bool shared = symbol->common || symbol->constant;
    ft_activation *own = activation_of(walker, shared ? NULL : symbol->unit), *saved = walker->activation;
    if (!own || !(object = fm_ft_new_object(walker, own, symbol))) return NULL;
    /* Its bounds and first value are what they were when its unit began. */
    bool at_entry = walker->at_entry;
    ft_activation scope = {.unit = symbol->unit, .caller = saved};
    walker->activation = symbol->common ? saved : symbol->constant ? &scope : own;
    walker->at_entry = !walker->entering;
    ft_type type = fm_ft_type_of(symbol);
    object->busy = true;
    bool done = fm_ft_layout(walker, symbol->unit, &type, place, &object->layout);
    object->busy = false;
    if (done && symbol->rank) {
        object->is_array = true;
        if (symbol->allocatable)
            object->unknown_shape = true;
        else
            done = fm_ft_set_shape(walker, object, symbol->rank, symbol->dimensions, &symbol->place);
    } else if (done) {
        done = first_value(walker, object);
    }
    walker->at_entry = at_entry;
    walker->activation = saved;
    return done ? object : NULL;
}

ft_object *fm_ft_object_of_name(ft_walker *walker, const char *name, const ft_place *place)
{
    ft_symbol *symbol = fm_ft_lookup(walker, walker->activation->unit, name, true);
    if (!symbol) {
        fm_ft_refuse(walker->context, place, "'%.100s' is not declared in this file", name);
        return NULL;
    }
    return fm_ft_object(walker, symbol, place);
}

ft_object *fm_ft_member_object(ft_walker *walker, ft_object *owner, const ft_symbol *member,
                               const ft_place *place)
{
    const char *owner_name = owner->member ? owner->member : owner->symbol->name;
    const char *name =
        fm_ft_intern(walker->context, fm_ft_print(walker->context, "%s.%s", owner_name, member->name));
    ft_activation *activation = name ? activation_of(walker, owner->symbol->unit) : NULL;
    if (!activation) return NULL;
    for (ft_object *object = *bucket_of(activation, member); object; object = object->next)
        if (object->symbol == member && object->member == name) return object;
    ft_object *object = fm_ft_new_object(walker, activation, member);
    ft_type type = fm_ft_type_of(member);
    if (!object) return NULL;
    object->member = name;
    object->sibling = owner->members;
    owner->members = object;
    if (member->rank && member->pointer && !refused_symbol(walker, member, place)) return NULL;
    if (!fm_ft_layout(walker, member->unit->host, &type, place, &object->layout)) return NULL;
    if (!member->rank) {
        if (!first_value(walker, object)) return NULL;
        if (owner->changed) fm_ft_set_known(object, NULL, owner->changed);
        object->changed = owner->changed;
        return object;
    }
    if (member->allocatable) {
        object->is_array = object->unknown_shape = true;
        return object;
    }
    if (!fm_ft_set_shape(walker, object, member->rank, member->dimensions, place)) return NULL;
    return fm_ft_note(walker,
                      fm_ft_print(walker->context,
                                  "'%s' is taken as an array by itself: it begins a block of its own", name))
               ? object
               : NULL;
}

/*
 * How many bytes a type has, and where the members of a derived type are: as gfortran on x86-64.
 */

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
    /* With parts that are allocated by themselves it can only be a scalar (fortran_sections.c). */
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
        const ft_record *record = record_of_name(walker, unit, type->derived);
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
