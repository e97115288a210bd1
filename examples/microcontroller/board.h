/* The functions that the program needs from a board. */
#ifndef BOARD_H
#define BOARD_H

/* Writes a text to the host. */
void board_write(const char *text);

#endif
