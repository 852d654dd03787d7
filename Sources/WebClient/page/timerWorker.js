/** Waits for each message `{id, milliseconds}`, and then sends the id back. */
onmessage = ({ data: { id, milliseconds } }) => {
  setTimeout(() => postMessage(id), milliseconds);
};
