/* Trains the network of gru.rml where it runs: on a microcontroller, or on a PC. It prints the mean loss of each epoch, and a checksum of all that
   was learned. */
#include "board.h"
#include "train.h"

enum { WINDOWS = 40, EPOCHS = 20 };

static train_state state;
static train_work work;
static train_in in[TRAIN_CYCLES];
static train_out out[TRAIN_CYCLES];

/* The signal: a triangle wave of 64 steps. Each measurement advances by some steps, whose number changes from time to time. */
typedef struct {
    int phase;
    int step;
    int count;
} sensor;

static float measure(sensor *s) {
    const int height = s->phase < 32 ? s->phase : 64 - s->phase;
    s->phase = (s->phase + s->step) % 64;
    s->count++;
    if (s->count % 40 == 0) {
        s->step = 3 + (s->step - 2) % 5;
    }
    return (float)height / 16.0f - 1.0f;
}

static void write_digits(unsigned long x, unsigned long base, int digits) {
    char text[16];
    text[digits] = '\0';
    for (int i = digits - 1; i >= 0; i--) {
        text[i] = "0123456789abcdef"[x % base];
        x /= base;
    }
    board_write(text);
}

static void report(int epoch, float loss) {
    const unsigned long parts = (unsigned long)(loss * 10000.0f + 0.5f);
    board_write("epoch ");
    write_digits((unsigned long)epoch, 10, 2);
    board_write("  loss ");
    write_digits(parts / 10000, 10, 1);
    board_write(".");
    write_digits(parts % 10000, 10, 4);
    board_write("\n");
}

/* FNV-1a of the bytes of all states. */
static unsigned long checksum(void) {
    const unsigned char *bytes = (const unsigned char *)&state;
    uint32_t sum = 2166136261u;
    for (unsigned long i = 0; i < sizeof state; i++) {
        sum = (sum ^ bytes[i]) * 16777619u;
    }
    return sum;
}

int main(void) {
    train_start(&state);
    for (int epoch = 1; epoch <= EPOCHS; epoch++) {
        sensor s = {0, 3, 0};
        float next = measure(&s), sum = 0;
        for (int window = 0; window < WINDOWS; window++) {
            for (int t = 0; t < TRAIN_CYCLES; t++) {
                in[t].x[0] = next;
                next = measure(&s);
                in[t].target[0] = next;
                in[t].end = t == TRAIN_CYCLES - 1;
            }
            if (train_run(&state, &work, in, TRAIN_CYCLES, out) != TRAIN_CYCLES) {
                board_write("the window did not run\n");
                return 1;
            }
            for (int t = 0; t < TRAIN_CYCLES; t++) {
                sum += out[t].loss;
            }
        }
        report(epoch, sum / (WINDOWS * TRAIN_CYCLES));
    }
    board_write("state ");
    write_digits(checksum(), 16, 8);
    board_write("\n");
    return 0;
}
