/** Stands in the page itself: keeps the calls made before the script is there, in `service.q`. */
window.service =
  window.service ||
  function () {
    ;(service.q = service.q || ([] as Iterable<unknown>[])).push(arguments)
  }
