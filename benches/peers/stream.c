// A streaming step by hand: an LSTM of 64 units and a dense layer of 4 on a vector of 16, in vectors of 512 bits, or of 256 where the
// processor has no longer ones.
// cc -O3 -march=native -mprefer-vector-width=512 -ffast-math stream.c -lm; ./a.out DIR takes the network and the data that
// `crates/rml/benches/peers.rs` has written, compares its outputs, and takes a turn for each line of its standard input, as there.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#ifdef __AVX512F__
#include <immintrin.h>
enum { LANES = 16 };
#else
enum { LANES = 8 };
#endif
enum { D = 16, H = 64, O = 4, K = D + H, G = 4 * H, PARTS = H / LANES, VECTORS = 4096, MOST = 1 << 22 };
typedef float vec __attribute__((vector_size(4 * LANES)));
typedef int ints __attribute__((vector_size(4 * LANES)));
#define ALIGNED __attribute__((aligned(64)))

static float weights[K * G] ALIGNED, bias[G] ALIGNED, dense[O * H] ALIGNED, offset[O];
static float inputs[VECTORS * D] ALIGNED, outputs[VECTORS * O];
static float seen[K] ALIGNED, cell[H] ALIGNED;

static inline vec all(float x) { return (vec){0} + x; }

// x to whole numbers within [-126, 126], and p * 2^n.
#ifdef __AVX512F__
static inline vec whole(vec x) {
  __m512 bound = _mm512_set1_ps(126.0f);
  __m512 inner = _mm512_max_ps(_mm512_min_ps((__m512)x, bound), _mm512_sub_ps(_mm512_setzero_ps(), bound));
  return (vec)_mm512_roundscale_ps(inner, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}
static inline vec scaled(vec p, vec n) { return (vec)_mm512_scalef_ps((__m512)p, (__m512)n); }
#else
static inline vec whole(vec x) {
  for (int i = 0; i < LANES; i++) x[i] = rintf(fmaxf(fminf(x[i], 126.0f), -126.0f));
  return x;
}
static inline vec scaled(vec p, vec n) { return p * (vec)((__builtin_convertvector(n, ints) + 127) << 23); }
#endif

// e^x: a power of two, and a polynomial within half a binade, as in Cephes.
static inline vec exponential(vec x) {
  vec n = whole(x * 1.44269504089f);
  vec r = x - n * 0.693359375f + n * 2.12194440e-4f;
  vec p = all(1.9875691500e-4f);
  p = p * r + 1.3981999507e-3f;
  p = p * r + 8.3334519073e-3f;
  p = p * r + 4.1665795894e-2f;
  p = p * r + 1.6666665459e-1f;
  p = p * r + 5.0000001201e-1f;
  return scaled(p * r * r + r + 1.0f, n);
}
static inline vec sigmoid(vec x) { return 1.0f / (1.0f + exponential(-x)); }
static inline vec hyperbolic(vec x) { return 2.0f / (1.0f + exponential(-2.0f * x)) - 1.0f; }

// Gates in the columns: forget, input, output, candidate.
__attribute__((noinline)) static void step(const float *x, float *y) {
  memcpy(seen, x, D * sizeof(float));
  vec z[G / LANES];
  const vec *b = (const vec *)bias, *w = (const vec *)weights;
  for (int j = 0; j < G / LANES; j++) z[j] = b[j];
  for (int k = 0; k < K; k++, w += G / LANES) {
    vec s = all(seen[k]);
#pragma GCC unroll 32
    for (int j = 0; j < G / LANES; j++) z[j] += s * w[j];
  }
  vec *c = (vec *)cell, *h = (vec *)(seen + D), sums[O] = {0};
  const vec *d = (const vec *)dense;
#pragma GCC unroll 4
  for (int j = 0; j < PARTS; j++) {
    vec next = sigmoid(z[j]) * c[j] + sigmoid(z[PARTS + j]) * hyperbolic(z[3 * PARTS + j]);
    c[j] = next;
    h[j] = sigmoid(z[2 * PARTS + j]) * hyperbolic(next);
    for (int o = 0; o < O; o++) sums[o] += h[j] * d[o * PARTS + j];
  }
  for (int o = 0; o < O; o++) {
    float sum = offset[o];
    for (int j = 0; j < LANES; j++) sum += sums[o][j];
    y[o] = sum;
  }
}

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1e3 + t.tv_nsec * 1e-6;
}

static int order(const void *a, const void *b) {
  double d = *(const double *)a - *(const double *)b;
  return (d > 0) - (d < 0);
}

static void get(const char *folder, const char *name, float *to, size_t n) {
  char path[4096];
  snprintf(path, sizeof path, "%s/stream-16-64.%s", folder, name);
  FILE *file = fopen(path, "rb");
  if (!file || fread(to, sizeof(float), n, file) != n) {
    perror(path);
    exit(1);
  }
  fclose(file);
}

int main(int count, char **args) {
  static float net[K * G + G + H * O + O];
  static double times[MOST];
  if (count < 2) return 2;
  get(args[1], "net", net, sizeof net / sizeof *net);
  get(args[1], "x", inputs, VECTORS * D);
  get(args[1], "y", outputs, VECTORS * O);
  memcpy(weights, net, sizeof weights);
  memcpy(bias, net + K * G, sizeof bias);
  for (int k = 0; k < H; k++)
    for (int o = 0; o < O; o++) dense[o * H + k] = net[K * G + G + k * O + o];
  memcpy(offset, net + K * G + G + H * O, sizeof offset);
  float y[O];
  for (int t = 0; t < VECTORS; t++) {
    step(inputs + t * D, y);
    for (int o = 0; o < O; o++)
      if (!(fabsf(y[o] - outputs[t * O + o]) < 1e-4f)) {
        fprintf(stderr, "output %d of vector %d is %g, not %g\n", o, t, y[o], outputs[t * O + o]);
        return 1;
      }
  }
  printf("{\"ready\": true, \"loss\": null, \"memory\": null}\n");
  fflush(stdout);
  double seconds;
  for (int at = 0; scanf(" seconds %lf", &seconds) == 1;) {
    int n = 0;
    for (double end = now() + 1e3 * seconds; n < MOST && (n < 3 || now() < end); n++) {
      const float *x = inputs + at * D;
      double start = now();
      step(x, y);
      times[n] = now() - start;
      at = (at + 1) % VECTORS;
    }
    qsort(times, n, sizeof *times, order);
    printf("{\"median_ms\": %.7f, \"least_ms\": %.7f, \"p99_ms\": %.7f, \"steps\": %d, \"memory\": null}\n",
           times[n / 2], times[0], times[n * 99 / 100], n);
    fflush(stdout);
  }
  return 0;
}
