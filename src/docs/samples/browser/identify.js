// both from your server, which signs the email
service('identify', { email: user.email, signature: user.signature })
