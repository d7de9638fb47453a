// Stand-in for <stdbool.h>: bool, true and false are words of the language.
