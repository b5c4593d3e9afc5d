/** Inlined in the page: queues calls in `service.q` until the script loads. */
window.service =
  window.service ||
  function () {
    ;(service.q = service.q || ([] as Iterable<unknown>[])).push(arguments)
  }
