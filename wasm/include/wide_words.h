/* Words of 64 bits in zstd for wasm32, which has 64-bit registers and 32-bit pointers.
 *
 * zstd takes `size_t` for a register, and so reads bits out of words of 32 bits there, which it fills twice as often, and
 * leaves out its quickest loops. This header is included before each of its sources (`.cargo/config.toml`). In
 * `bitstream.h`, all of whose functions are inlined, `size_t` has 64 bits. `MEM_32bits` asks about its words, but for
 * `huf_compress.c`, whose words are its own, of `size_t`. Where it keeps pointers from overflowing, zstd refuses buffers
 * near the end of memory on 64 bits instead.
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

/* The loops over four Huffman streams begin with words that `HUF_initFastDStream` returns, which are of `size_t` too. Its
 * calls, whose argument begins with `args`, are to the function below; its definition, whose argument begins with `BYTE`,
 * becomes that of one that nobody calls. A stream's lower limit is 4 bytes short of a word then: a reload may begin before
 * it, in bytes of the compressed block that come before the stream, and takes no bits from there.
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
