// until this call, the script sends and stores nothing
service('consent', true)

// if they decline, or withdraw their consent
service('consent', false)
