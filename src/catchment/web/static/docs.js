// Starts the page to try the API; the interface itself comes from a package. Nothing is asked of anybody but us.
const place = document.getElementById("api");

// Whoever is signed in here may try what changes something too, as the pages do.
function withToken(request) {
  if (place.dataset.csrf && !["GET", "HEAD"].includes(request.method)) {
    request.headers["X-CSRF-Token"] = place.dataset.csrf;
  }
  return request;
}

SwaggerUIBundle({
  url: place.dataset.openapi,
  domNode: place,
  deepLinking: true,
  docExpansion: "none",
  filter: true,
  validatorUrl: null,
  requestInterceptor: withToken,
});
