// before this, nothing is sent and nothing is kept
service('consent', true)

// when they refuse, or take it back
service('consent', false)
