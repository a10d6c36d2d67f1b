/** A stream of chunks, each read when the consumer asks for it. `cancel` frees what reading needs. @internal */
export function streamOf(next: () => Promise<{ done?: boolean | undefined; value?: Uint8Array | void | undefined }>, cancel: () => Promise<unknown>): ReadableStream<Uint8Array> {
  return new ReadableStream({
    async pull(controller) {
      const { done, value } = await next();
      if (done || !value) controller.close();
      else controller.enqueue(value);
    },
    async cancel() {
      await cancel();
    },
  }, { highWaterMark: 0 });
}
