/* 64-bit words in zstd for wasm32, which has 64-bit registers but 32-bit pointers.
 *
 * zstd assumes that registers have the size of `size_t`. On wasm32 it therefore reads bits from 32-bit words, which it
 * refills twice as often, and omits its fastest loops. This header is included before each zstd source (see
 * `.cargo/config.toml`). It makes `size_t` 64 bits wide in `bitstream.h`, whose functions are all inlined. `MEM_32bits`
 * is about the words of `bitstream.h`; `huf_compress.c` is an exception, because it has words of its own, of type
 * `size_t`. zstd also uses it to keep pointers from overflowing: on 64 bits it refuses buffers near the end of memory.
 */
#if defined(__wasm32__) && __has_include("bitstream.h") && __has_include("zstd_deps.h")
#include "mem.h"
#include "compiler.h"
#include "debug.h"
#include "error_private.h"
#include "bits.h"

#define MEM_32bits() (__builtin_strcmp(__FILE_NAME__, "huf_compress.c") == 0)
#define MEM_64bits() (!MEM_32bits())

#define MEM_readLEST MEM_readLE64
#define MEM_writeLEST MEM_writeLE64
#define size_t U64
#include "bitstream.h"
#undef size_t
#undef MEM_writeLEST

/* The loops over four Huffman streams start with words that `HUF_initFastDStream` returns, also of type `size_t`. The
 * macro redirects its calls, whose argument begins with `args`, to the function below. Its definition, whose argument
 * begins with `BYTE`, gets the name of an unused function. The lower limit of a stream is then 4 bytes short of a word: a
 * reload may begin before the stream, in earlier bytes of the compressed block, but takes no bits from them.
 */
static inline U64 wide_initFastDStream(const BYTE* ip)
{
    U32 const used = ip[7] ? 8 - ZSTD_highbit32(ip[7]) : 0;
    return (MEM_readLE64(ip) | 1) << used;
}
#define HUF_initFastDStream(ip) WIDE_##ip)
#define WIDE_args wide_initFastDStream(args
#define WIDE_BYTE narrow_initFastDStream(BYTE
#endif
