// The share of an element of a row: ``below`` is the element less the row's largest one.

__device__ double of_row(double below, double sum)
{
    return exp(below) / sum;
}
