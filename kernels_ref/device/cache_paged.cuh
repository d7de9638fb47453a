// A cache of keys or values in pages of 16 tokens, (pages, kv_heads, 16, 128): the row of a token. A sequence's pages
// stand in its row of the table, cdiv(tokens, 16) of them.
__device__ long long cache_row(const int* table, long long seq, long long head, long long token, long long kv_heads,
                               long long tokens)
{
    long long page = table[seq * ((tokens + 15) / 16) + token / 16];
    return (page * kv_heads + head) * 16 + token % 16;
}
