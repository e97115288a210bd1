/* A Cortex-M board: its start-up code, and output to an attached debugger or emulator (semihosting). It needs no library. */
#include "board.h"

#include <stddef.h>
#include <stdint.h>

int main(void);

/* Set by the linker script. */
extern uint32_t data_from[], data_begin[], data_end[], bss_begin[], bss_end[], stack_top[];

static intptr_t host(intptr_t operation, intptr_t argument) {
    register intptr_t r0 __asm__("r0") = operation;
    register intptr_t r1 __asm__("r1") = argument;
    __asm__ volatile("bkpt 0xab" : "+r"(r0) : "r"(r1) : "memory");
    return r0;
}

void board_write(const char *text) {
    host(0x04, (intptr_t)text);
}

static void stop(int status) {
    /* The application has ended, or has failed. */
    host(0x18, status == 0 ? 0x20026 : 0x20023);
    for (;;) {
    }
}

/* Functions that compilers call implicitly. */
void *memset(void *to, int byte, size_t n) {
    volatile unsigned char *p = to;
    while (n-- > 0) {
        *p++ = (unsigned char)byte;
    }
    return to;
}

void *memcpy(void *restrict to, const void *restrict from, size_t n) {
    volatile unsigned char *p = to;
    const unsigned char *q = from;
    while (n-- > 0) {
        *p++ = *q++;
    }
    return to;
}

void reset(void) {
    uint32_t *from = data_from;
#ifdef __ARM_FP
    /* The FPU is off at first. */
    *(volatile uint32_t *)0xe000ed88 |= 0xfu << 20;
    __asm__ volatile("dsb\n isb");
#endif
    for (uint32_t *to = data_begin; to < data_end; to++) {
        *to = *from++;
    }
    for (uint32_t *to = bss_begin; to < bss_end; to++) {
        *to = 0;
    }
    stop(main());
}

static void fault(void) {
    board_write("fault\n");
    stop(1);
}

/* The stack, and the handlers for reset and for faults. */
__attribute__((section(".vectors"), used)) static const struct {
    uint32_t *stack;
    void (*handlers[15])(void);
} vectors = {stack_top, {reset, fault, fault, fault, fault, fault}};
