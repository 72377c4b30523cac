use super::filter;

#[test]
fn npm_settings_lose_exactly_their_credentials() {
    let settings = "registry=https://npm.example/\n\
         @own:registry = https://own.example/npm/\n\
         //own.example/npm/:_authToken=abc\n\
         //own.example/npm/:username=me\n\
         _auth=abc\n\
         \"_password\" = abc\n\
         email=me@example.org\n\
         keyfile=/home/me/key\n\
         proxy=http://me:secret@proxy.example:3128\n\
         https-proxy=http://proxy.example:3128\n\
         ; a comment\n\
         cafile=/etc/ssl/own.pem\n\
         strict-ssl=false";
    let kept = "registry=https://npm.example/\n\
         @own:registry = https://own.example/npm/\n\
         https-proxy=http://proxy.example:3128\n\
         ; a comment\n\
         cafile=/etc/ssl/own.pem\n\
         strict-ssl=false\n";
    assert_eq!(filter(settings), kept);
}
