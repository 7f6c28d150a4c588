/* Search on pages that are opened from a disk: browsers refuse workers there, so the script of a
   worker runs in a hidden frame instead. Pages of a server are left as they are. */
if (location.protocol === "file:") {
  class IFrameWorker extends EventTarget {
    constructor(url) {
      super();
      const frame = Object.assign(document.createElement("iframe"), {hidden: true});
      document.body.append(frame);
      const inside = frame.contentWindow;
      const script = new URL(url, document.baseURI).href;
      addEventListener("message", (event) => {
        if (event.source === inside) this.dispatchEvent(new MessageEvent("message", {data: event.data}));
      });
      inside.document.open();
      inside.document.write(
        `<script>postMessage = (data) => parent.dispatchEvent(
           new MessageEvent("message", {data, source: window}));<\/script><script src="${script}"><\/script>`);
      inside.document.close();
      this.ready = new Promise((done) => inside.addEventListener("load", () => done(inside)));
    }
    async postMessage(data) {
      (await this.ready).dispatchEvent(new MessageEvent("message", {data}));
    }
  }
  window.IFrameWorker = IFrameWorker;  // the search looks for this name
  window.Worker = IFrameWorker;
}
