// A page of a server is loaded again when there is another one, unless its reader points at something; when the server
// has ended, that is said.
const loadAgain = async (ended) => {
  let state;
  for (;;) {
    try {
      const answer = await (await fetch("state", { cache: "no-store" })).text();
      const isBusy = typeof isPointing === "function" && isPointing();
      if (state !== undefined && answer !== state && !isBusy) return location.reload();
      if (!isBusy) state = answer;
    } catch {
      ended();
      state = "";
    }
    await new Promise((done) => setTimeout(done, document.hidden ? 5000 : 500));
  }
};
