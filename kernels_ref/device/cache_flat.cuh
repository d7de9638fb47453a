// A cache of keys or values, (seqs, kv_heads, tokens, 128): the row of a token. There is no table.
__device__ long long cache_row(const int* table, long long seq, long long head, long long token, long long kv_heads,
                               long long tokens)
{
    return (seq * kv_heads + head) * tokens + token;
}
