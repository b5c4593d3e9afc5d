/** Stands in the page itself: keeps the calls made before the script is there, in `service.q` (spec 4.5). */
window.service =
  window.service ||
  function () {
    ;(service.q = service.q || ([] as Iterable<unknown>[])).push(arguments)
  }
