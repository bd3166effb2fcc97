/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_csv.c - the reader of CSV tables. The first byte chooses options, the rest is the table. */
#include "fuzz/fuzz_target.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0) return 0;
    unsigned choice = data[0];
    fm_reader_options options = {.format = "csv",
                                 .csv_key = choice & 1   ? "key"
                                            : choice & 2 ? "2"
                                                         : NULL,
                                 .csv_size = choice & 4 ? (choice & 8 ? "size" : "3") : NULL,
                                 .csv_header = (int)(choice >> 4 & 3),
                                 .csv_key_unit = choice & 64 ? UINT64_C(1) << 40 : 0,
                                 .csv_size_unit = choice & 64 ? 512 : 0,
                                 .csv_delimiter = choice & 128 ? ';' : 0};
    if (options.csv_header > FM_CSV_HEADER_NO) options.csv_header = FM_CSV_HEADER_LOOK;
    fuzz_read_trace(data + 1, size - 1, &options);
    return 0;
}

size_t fuzz_seed(size_t number, uint8_t *to, size_t room)
{
    static const char *const texts[] = {
        "\x0dtime,key,size\n1,10,4\n2,0x20,8\r\n\n3,\"30\",0\n",
        "\x02\"a,\n\"\"b\"\"\",\"x\"\"y\"\n1,\"x\"\"y\"\n1,x\"y\n",
        "\x86 1;\"a;b,c\";9\n2;5;6\n",
        "\x01\xef\xbb\xbfkey,x\n3,4\n\"5\n",
        "\x46 1\t16777215\t1\n2\t16777216\t4294967296\n",
        "\x08version,time,\"LBA (512B)\",queueDepth,sectors\n1,2,3,4,5\n1,2,3,4\n",
        "\x04\n\nobj_id,x,size\n\n1,2,3\n",
        "\x14 1,2,3\n22,1234567,512\n1,9999999999999999,0\n7,18446744073709551615,0\n1,2,3,4\n6,7,8\r\n",
        "\x92 a;10\r\nb;20\r\nc;30\r\nd;40\r\ne;50\r\nf;60\r\n\"g\";70\r\nh;80\r\ni;90\r\n",
    };
    return fuzz_text_seed(texts, sizeof texts / sizeof texts[0], number, to, room);
}
