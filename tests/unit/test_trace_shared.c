/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_trace_shared.c - a real block-I/O trace in three formats (published with libCacheSim; not committed):
 * the keys must be the same whatever the format. Looked for in $FATHOM_SHARED/traces or ../shared/traces;
 * skipped, with a reason, where it is absent.
 */
#include "case.h"

#include "unit/trace_helpers.h"

static char directory[512];

static bool find_traces(void)
{
    const char *shared = getenv("FATHOM_SHARED");
    snprintf(directory, sizeof directory, "%s/traces", shared ? shared : "../shared");
    char path[600];
    snprintf(path, sizeof path, "%s/cloudPhysicsIO.csv", directory);
    return access(path, R_OK) == 0;
}

CASE(three_formats_one_trace)
{
    if (!find_traces()) {
        print_message(
            "SKIP: no %s/cloudPhysicsIO.csv; set FATHOM_SHARED to the directory that holds traces/\n",
            directory);
        skip();
    }
    static const char *const names[] = {"cloudPhysicsIO.txt", "cloudPhysicsIO.csv",
                                        "cloudPhysicsIO.oracleGeneral.bin"};
    gathered all[3];
    for (int i = 0; i < 3; i++) {
        char path[600];
        snprintf(path, sizeof path, "%s/%s", directory, names[i]);
        gather(&all[i], path, &(fm_reader_options){0});
        assert_int_equal(all[i].status, FM_OK);
        assert_int_equal(all[i].count, 113872); /* as its README says */
        assert_memory_equal(all[i].address, all[0].address, all[0].count * sizeof(uint64_t));
    }
    /* Through the native format and back. */
    const char *stored = in_directory("io.fathom");
    fm_writer *writer;
    assert_int_equal(fm_writer_open(&writer, stored, NULL, NULL), FM_OK);
    fm_batch batch = {.count = all[0].count, .address = all[0].address};
    assert_int_equal(fm_writer_append(writer, &batch, NULL), FM_OK);
    assert_int_equal(fm_writer_finish(writer, NULL), FM_OK);
    fm_writer_close(writer);
    gathered back;
    gather(&back, stored, NULL);
    assert_int_equal(back.status, FM_OK);
    assert_int_equal(back.count, all[0].count);
    assert_memory_equal(back.address, all[0].address, all[0].count * sizeof(uint64_t));
    assert_false(back.info.memory_addresses);
    gathered_free(&back);
    for (int i = 0; i < 3; i++) gathered_free(&all[i]);
}

CASES_WITH(make_directory, remove_directory);
