/* Words of 64 bits in zstd for wasm32, which has 64-bit registers and 32-bit pointers.
 *
 * zstd takes `size_t` for a register, and so reads bits out of words of 32 bits there, which it fills twice as often. This
 * header is included before each of its sources (`.cargo/config.toml`). In `bitstream.h`, all of whose functions are inlined,
 * `size_t` has 64 bits. `MEM_32bits` asks about its words, but for `huf_compress.c`, whose words are its own, of `size_t`.
 * Where it keeps pointers from overflowing, zstd refuses buffers near the end of memory on 64 bits instead.
 */
#if defined(__wasm32__) && __has_include("bitstream.h") && __has_include("zstd_deps.h")
#include "mem.h"
#include "compiler.h"
#include "debug.h"
#include "error_private.h"
#include "bits.h"

/* The loops that decode four Huffman streams at a time keep words in variables of `size_t`. */
#define HUF_DISABLE_FAST_DECODE 1

#define MEM_32bits() (__builtin_strcmp(__FILE_NAME__, "huf_compress.c") == 0)
#define MEM_64bits() (!MEM_32bits())

#define size_t U64
#define MEM_readLEST MEM_readLE64
#define MEM_writeLEST MEM_writeLE64
#include "bitstream.h"
#undef MEM_readLEST
#undef MEM_writeLEST
#undef size_t
#endif
