// your server provides the email and its signature
service('identify', { email: user.email, signature: user.signature })
