/* What the program needs of what it runs on. */
#ifndef BOARD_H
#define BOARD_H

/* Writes a text to the host. */
void board_write(const char *text);

#endif
