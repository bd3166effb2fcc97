/* SPDX-License-Identifier: Apache-2.0 */
/* link.cu - see link.cuh. */
#include "link.cuh"

#include "segment_links.cuh"

#include <algorithm>

namespace fathom
{

namespace
{

constexpr size_t ALIGNMENT = 512;

/* The parts of LinkSpace.ordering: those of a partition, or of a sort. */
struct Layout {
    size_t starts[PASSES], group_tile, group_start, bucket_start, first_segment, first_table, tables, scan;
    size_t scan_bytes;
    size_t sorting, cursors, sort_bytes;
    size_t total = 0;

    size_t place(size_t bytes)
    {
        const size_t at = total;
        total += (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
        return at;
    }

    explicit Layout(size_t positions)
    {
        for (int pass = 0; pass < PASSES; pass++)
            starts[pass] = place(starts_needed(tiles_needed(positions, pass > 0)) * 4);
        group_tile = place((DIGITS + 1) * 4);
        group_start = place((DIGITS + 1) * 4);
        bucket_start = place((MOST_BUCKETS + 1) * 4);
        first_segment = place((MOST_BUCKETS + 1) * 4);
        first_table = place((MOST_BUCKETS + 1) * 4);
        tables = place(segment_tables_needed(positions) * 4);
        scan_bytes = partition_scan_needed(positions);
        scan = place(scan_bytes);
        const size_t partition = total;
        total = 0;
        cursors = place(LINK_BUCKETS * 4);
        sort_bytes = sort_space_needed(positions);
        sorting = place(sort_bytes);
        total = std::max(total, partition);
    }
};

template <typename T> T *at(const LinkSpace &space, size_t place)
{
    return (T *)((unsigned char *)space.ordering + place);
}

SortSpace sort_space(const LinkSpace &space)
{
    const Layout layout(space.positions);
    return SortSpace{space.words, at<void>(space, layout.sorting), layout.sort_bytes,
                     at<uint32_t>(space, layout.cursors)};
}

/* Of words: the first pass takes 0 and 1 and the second one 2 and 3 for references, both the last one for
 * places. */
fm_status part_references(const uint64_t *blocks, uint32_t count, const KeyPacking &packing,
                          const LinkSpace &space, OrderedReferences *ordered, cudaStream_t stream,
                          fm_error *error)
{
    const Layout layout(space.positions);
    uint32_t *const *words = space.words;
    const ScanSpace scan = {at<void>(space, layout.scan), layout.scan_bytes};
    PartitionPass &first = ordered->pass[0], &second = ordered->pass[1];
    uint16_t *const places = (uint16_t *)words[5];
    const int first_bits = std::min(DIGIT_BITS, packing.bits), left = packing.bits - first_bits;
    first = PartitionPass{
        count,   first_bits, tiles_needed(count, false), at<uint32_t>(space, layout.starts[0]), places,
        nullptr, nullptr};
    ordered->passes = left > SHORT_KEY_BITS ? 2 : 1;
    if (ordered->passes == 1) {
        ordered->references = ShortKeyed{(uint16_t *)words[0], words[1]};
        ordered->key_bits = left;
        return part_blocks(blocks, packing, first, ordered->references, scan, stream, error);
    }
    const LongKeyed between = {words[0], words[1]};
    uint32_t *group_tile = at<uint32_t>(space, layout.group_tile);
    uint32_t *group_start = at<uint32_t>(space, layout.group_start);
    second = PartitionPass{count,
                           DIGIT_BITS,
                           tiles_needed(count, true),
                           at<uint32_t>(space, layout.starts[1]),
                           places + count,
                           group_tile,
                           group_start};
    ordered->references = ShortKeyed{(uint16_t *)words[2], words[3]};
    ordered->key_bits = left - DIGIT_BITS;
    FM_TRY(part_blocks(blocks, packing, first, between, scan, stream, error));
    FM_TRY(make_groups(first, group_tile, group_start, stream, error));
    return part_groups(between, second, ordered->references, scan, stream, error);
}

fm_status link_parted(const OrderedReferences &ordered, uint32_t count, const LinkSpace &space,
                      cudaStream_t stream, fm_error *error)
{
    const Layout layout(space.positions);
    uint32_t *const *words = space.words;
    const PartitionPass &last = ordered.pass[ordered.passes - 1];
    const uint32_t buckets = ordered.passes > 1 ? MOST_BUCKETS : DIGITS;
    const SegmentSpace segments = {
        at<uint32_t>(space, layout.bucket_start), at<uint32_t>(space, layout.first_segment),
        at<uint32_t>(space, layout.first_table), at<uint32_t>(space, layout.tables)};
    SegmentTables tables;
    /* With one pass links take words 2; with two, 0, and on the way back 1. */
    uint32_t *const links = ordered.passes > 1 ? words[0] : words[2];
    FM_TRY(find_buckets(last, segments.bucket_start, stream, error));
    FM_TRY(plan_segments(count, ordered.key_bits, buckets, ordered.references.keys, segments, &tables, stream,
                         error));
    FM_TRY(link_segments(tables, ordered.references.positions, count, links, stream, error));
    if (ordered.passes == 1) return go_back(last, links, words[4], &tables, stream, error);
    FM_TRY(go_back(last, links, words[1], &tables, stream, error));
    return go_back(ordered.pass[0], words[1], words[4], nullptr, stream, error);
}

} // namespace

size_t link_space_needed(size_t positions)
{
    return Layout(positions).total;
}

fm_status order_references(const uint64_t *blocks, uint32_t count, const KeyPacking &packing,
                           const LinkSpace &space, OrderedReferences *ordered, cudaStream_t stream,
                           fm_error *error)
{
    ordered->sorted = packing.bits > SHORT_KEY_BITS + PASSES * DIGIT_BITS;
    return ordered->sorted
               ? sort_keys(blocks, count, packing, sort_space(space), &ordered->sorted_keys, stream, error)
               : part_references(blocks, count, packing, space, ordered, stream, error);
}

fm_status link_references(const OrderedReferences &ordered, uint32_t count, const LinkSpace &space,
                          uint32_t **previous, cudaStream_t stream, fm_error *error)
{
    *previous = ordered.sorted ? ordered.sorted_keys.previous : space.words[4];
    return ordered.sorted ? link_sorted_keys(ordered.sorted_keys, count, sort_space(space), stream, error)
                          : link_parted(ordered, count, space, stream, error);
}

} // namespace fathom
