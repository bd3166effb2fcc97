/* SPDX-License-Identifier: Apache-2.0 */
/*
 * grown_structs.c - a program that the install test compiles with the installed headers, with older ones
 * (structs lack their last members) and with newer ones (they have one more, FM_EXTRA), and runs with the one
 * library. Compiles as C and as C++. Standard input: keys as u64. With an argument: asks for what only the
 * newer one knows.
 */
#include <fathom/fathom.h>
#include <stdio.h>
#include <string.h>

int main(int argc, char **argv)
{
    struct {
        fm_reader_options options;
        unsigned char behind[64];
    } given;
    struct {
        fm_trace_info info;
        unsigned char behind[64];
    } got;
    fm_reader *reader;
    fm_batch batch;
    fm_error error;
    memset(&given, 0xAA, sizeof given); /* not the caller's options: must not be looked at */
    memset(&given.options, 0, sizeof given.options);
    memset(&got, 0xAA, sizeof got);
    given.options.format = "u64";
#ifdef FM_EXTRA
    given.options.extra = argc > 1;
#endif
    (void)argv;
    (void)argc;
    if (fm_reader_open(&reader, "-", &given.options, &error)) {
        printf("%s: %s\n", fm_status_name(error.status), error.reason);
        return 1;
    }
    do {
        if (fm_reader_next(reader, &batch, &error)) return 1;
    } while (batch.count > 0);
    fm_reader_info(reader, &got.info);
    fm_reader_close(reader);
    for (size_t i = 0; i < sizeof got.behind; i++)
        if (got.behind[i] != 0xAA) return 2;
#ifdef FM_EXTRA
    if (got.info.extra != 0) return 3;
#endif
    printf("%llu references by libfathom %u\n", (unsigned long long)got.info.references, fm_version_number());
    return 0;
}
